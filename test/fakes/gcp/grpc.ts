/** What the gRPC fakes have in common: messages and services of the client packages' own protos, errors, faults, a server. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { credentials, type handleUnaryCall, Server, ServerCredentials, status } from "@grpc/grpc-js";
import { fromJSON, type ServiceDefinition } from "@grpc/proto-loader";
import protobuf from "protobufjs";
import type { FaultKind, Faults } from "../faults.ts";

// Google's clients look for a machine of Google's that they might be on; there is none.
process.env["METADATA_SERVER_DETECTION"] ??= "none";

const require = createRequire(import.meta.url);

/** As google-gax reads them (`build/src/grpc.js`), so that messages look the same on both sides. */
const reading = { longs: String, enums: String, defaults: true, oneofs: true } as const;

const protosOf = (packageName: string): protobuf.INamespace => {
  const entry = require.resolve(packageName);
  const folder = join("node_modules", packageName);
  const root = entry.slice(0, entry.lastIndexOf(folder) + folder.length);
  return JSON.parse(readFileSync(join(root, "build", "protos", "protos.json"), "utf8"));
};

/** What a handler throws: an error with its gRPC code (https://grpc.io/docs/guides/status-codes/). */
export class GrpcError extends Error {
  readonly code: status;

  constructor(code: keyof typeof status, message: string) {
    super(message);
    this.code = status[code];
  }
}

// biome-ignore lint/suspicious/noExplicitAny: messages are of whatever the proto says
export type Message = any;

/** By the methods' names in the proto. */
export type Handlers = Readonly<Record<string, (request: Message) => unknown>>;

const injected: Readonly<Record<FaultKind, () => GrpcError>> = {
  unavailable: () => new GrpcError("UNAVAILABLE", "injected: the service is unavailable"),
  permission_denied: () => new GrpcError("PERMISSION_DENIED", "injected: permission denied"),
  resource_exhausted: () => new GrpcError("RESOURCE_EXHAUSTED", "injected: quota exceeded"),
  reply_lost: () => new GrpcError("UNAVAILABLE", "injected: the connection broke"),
};

/** Fails before the act, or after it with its answer lost, as the faults say. */
const withFaults = async (faults: Faults, method: string, act: () => unknown): Promise<unknown> => {
  const fault = faults.enter(method);
  if (fault !== undefined && fault !== "reply_lost") throw injected[fault]();
  const answer = await act();
  if (fault === "reply_lost") throw injected.reply_lost();
  return answer;
};

/** Messages of a package's protos, by the full names of their types. */
export const messages = (packageName: string) => {
  const root = protobuf.Root.fromJSON(protosOf(packageName));
  const encoded = (type: string, value: object) => {
    const found = root.lookupType(type);
    return { found, bytes: found.encode(found.fromObject(value)).finish() };
  };
  return {
    /** As the other side of the wire reads it. */
    received: (type: string, value: object): Message => {
      const { found, bytes } = encoded(type, value);
      return found.toObject(found.decode(bytes), reading);
    },
    /** As a `google.protobuf.Any`. */
    any: (type: string, value: object) => ({
      type_url: `type.googleapis.com/${type}`,
      value: Buffer.from(encoded(type, value).bytes),
    }),
  };
};

export interface GrpcServer {
  readonly port: number;
  close(): void;
}

/**
 * Calls are counted, and fail as they are told, under the names of their service and method: `Services.GetService`.
 *
 * @param services handlers by the full name of the service
 */
export const serveGrpc = async (
  packageName: string,
  services: Readonly<Record<string, Handlers>>,
  faults: Faults,
): Promise<GrpcServer> => {
  const definitions = fromJSON(protosOf(packageName), reading);
  const server = new Server({ "grpc.max_receive_message_length": -1, "grpc.max_send_message_length": -1 });
  for (const [name, handlers] of Object.entries(services)) {
    const short = name.split(".").at(-1);
    const implementation = Object.entries(handlers).map(([method, handler]) => {
      const serve: handleUnaryCall<Message, unknown> = ({ request }, answer) => {
        withFaults(faults, `${short}.${method}`, () => handler(request)).then(
          (value) => answer(null, value),
          (error: Error) => {
            if (error instanceof GrpcError) return answer({ code: error.code, message: error.message });
            answer({ code: status.INTERNAL, message: `the fake met a bug: ${error.stack}` });
          },
        );
      };
      return [method, serve];
    });
    server.addService(definitions[name] as ServiceDefinition, Object.fromEntries(implementation));
  }
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return { port, close: () => server.forceShutdown() };
};

/** How an official client reaches a fake. */
export const clientOptions = ({ port }: GrpcServer, projectId: string) => ({
  apiEndpoint: "127.0.0.1",
  port,
  sslCreds: credentials.createInsecure(),
  projectId,
});
