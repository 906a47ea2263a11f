/** What the gRPC fakes have in common: services from the client packages' own protos, errors, faults, a server. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { credentials, Server, ServerCredentials, status } from "@grpc/grpc-js";
import { fromJSON, type PackageDefinition, type ServiceDefinition } from "@grpc/proto-loader";
import type { Faults } from "./faults.ts";

// Google's clients look for a machine of Google's that they might be on; there is none.
process.env["METADATA_SERVER_DETECTION"] ??= "none";

const require = createRequire(import.meta.url);

/** As google-gax reads them (`build/src/grpc.js`), so that messages look the same on both sides. */
const options = { keepCase: false, longs: String, enums: String, defaults: true, oneofs: true } as const;

export const loadProtos = (packageName: string): PackageDefinition => {
  const main = require.resolve(packageName);
  const protos = main.replace(/build[\\/]src[\\/].*$/, "build/protos/protos.json");
  return fromJSON(JSON.parse(readFileSync(protos, "utf8")), options);
};

/** An error with its gRPC code: https://grpc.io/docs/guides/status-codes/ */
export class GrpcError extends Error {
  readonly code: number;
  constructor(code: keyof typeof status, message: string) {
    super(message);
    this.code = status[code];
  }
}

// biome-ignore lint/suspicious/noExplicitAny: messages are of whatever the proto says
export type Message = any;
export type Act = (request: Message) => object | Promise<object>;

type Reply = (error: { code: number; message: string } | null, answer?: object) => void;
export type Handler = (call: { request: Message }, reply: Reply) => void;

/** One call: counted, failed as it was told, else acted. */
export const unary = (faults: Faults, method: string, act: Act): Handler => {
  const answer = async (request: Message): Promise<object> => {
    const fault = faults.enter(method);
    if (fault === "unavailable") throw new GrpcError("UNAVAILABLE", "the service is unavailable");
    if (fault === "permission_denied") throw new GrpcError("PERMISSION_DENIED", "the caller has no permission");
    if (fault === "resource_exhausted") throw new GrpcError("RESOURCE_EXHAUSTED", "quota exceeded");
    const done = await act(request);
    if (fault === "reply_lost") throw new GrpcError("UNAVAILABLE", "the connection was cut");
    return done;
  };
  return ({ request }, reply) => {
    answer(request).then(
      (done) => reply(null, done),
      (error: unknown) => {
        const known = error instanceof GrpcError;
        reply({ code: known ? error.code : status.UNKNOWN, message: String((error as Error).message) });
      },
    );
  };
};

export interface GrpcService {
  readonly definition: ServiceDefinition;
  readonly handlers: Readonly<Record<string, Handler>>;
}

export interface RunningGrpc {
  readonly port: number;
  close(): Promise<void>;
}

export const startGrpc = async (services: readonly GrpcService[]): Promise<RunningGrpc> => {
  const server = new Server({ "grpc.max_receive_message_length": -1, "grpc.max_send_message_length": -1 });
  for (const { definition, handlers } of services) server.addService(definition, handlers as never);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return {
    port,
    close: async () => server.forceShutdown(),
  };
};

/** How an official client reaches a fake. */
export const clientOptions = (port: number, projectId: string) => ({
  apiEndpoint: "127.0.0.1",
  port,
  sslCreds: credentials.createInsecure(),
  projectId,
});
