/** Shared by the gRPC fakes: messages and services from the client packages' protos, errors, faults, and a server. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { credentials, type handleUnaryCall, Server, ServerCredentials, status } from "@grpc/grpc-js";
import { fromJSON, type ServiceDefinition } from "@grpc/proto-loader";
import protobuf from "protobufjs";
import type { FaultKind, Faults } from "../faults.ts";
import { recordCalls } from "./requests/recorder.ts";

// Google's clients probe for a metadata server; tests have none.
process.env["METADATA_SERVER_DETECTION"] ??= "none";

const require = createRequire(import.meta.url);

/** google-gax's own options (`build/src/grpc.js`), so that messages look the same on both sides. */
const reading = { longs: String, enums: String, defaults: true, oneofs: true } as const;

const protosOf = (packageName: string): protobuf.INamespace => {
  const entry = require.resolve(packageName);
  const folder = join("node_modules", packageName);
  const root = entry.slice(0, entry.lastIndexOf(folder) + folder.length);
  return JSON.parse(readFileSync(join(root, "build", "protos", "protos.json"), "utf8"));
};

const roots = new Map<string, protobuf.Root>();

/** The protos of a package. */
export const rootOf = (packageName: string): protobuf.Root => {
  const root = roots.get(packageName) ?? protobuf.Root.fromJSON(protosOf(packageName));
  roots.set(packageName, root);
  return root;
};

/** Thrown by handlers: an error with its gRPC code (https://grpc.io/docs/guides/status-codes/). */
export class GrpcError extends Error {
  readonly code: status;

  constructor(code: keyof typeof status, message: string) {
    super(message);
    this.code = status[code];
  }
}

// biome-ignore lint/suspicious/noExplicitAny: the proto decides a message's type
export type Message = any;

/** Handlers by their method's name in the proto. */
export type Handlers = Readonly<Record<string, (request: Message) => unknown>>;

const injected: Readonly<Record<FaultKind, () => GrpcError>> = {
  unavailable: () => new GrpcError("UNAVAILABLE", "injected: the service is unavailable"),
  permission_denied: () => new GrpcError("PERMISSION_DENIED", "injected: permission denied"),
  resource_exhausted: () => new GrpcError("RESOURCE_EXHAUSTED", "injected: quota exceeded"),
  reply_lost: () => new GrpcError("UNAVAILABLE", "injected: the connection broke"),
};

/** Runs `act`. An injected fault fails the call before its effect, or loses its reply. */
const withFaults = async (faults: Faults, method: string, act: () => unknown): Promise<unknown> => {
  const fault = faults.enter(method);
  if (fault !== undefined && fault !== "reply_lost") throw injected[fault]();
  const answer = await act();
  if (fault === "reply_lost") throw injected.reply_lost();
  return answer;
};

/** Messages of a package's protos, by full type name. */
export const messages = (packageName: string) => {
  const root = rootOf(packageName);
  const encoded = (type: string, value: object) => {
    const found = root.lookupType(type);
    return { found, bytes: found.encode(found.fromObject(value)).finish() };
  };
  return {
    /** Encodes and decodes the value, as if it had crossed the wire. */
    received: (type: string, value: object): Message => {
      const { found, bytes } = encoded(type, value);
      return found.toObject(found.decode(bytes), reading);
    },
    /** Wraps the value in a `google.protobuf.Any`. */
    any: (type: string, value: object) => ({
      type_url: `type.googleapis.com/${type}`,
      value: Buffer.from(encoded(type, value).bytes),
    }),
  };
};

export interface GrpcServer {
  readonly port: number;
  /** The npm package with the protos of the services. */
  readonly packageName: string;
  close(): void;
}

/**
 * Counts calls and injects faults under service and method, such as `Services.GetService`.
 *
 * @param services handlers by the service's full name
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
            answer({ code: status.INTERNAL, message: `the fake failed with a bug: ${error.stack}` });
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
  return { port, packageName, close: () => server.forceShutdown() };
};

/** Options with which an official client connects to a fake. The client's requests are checked against the protos. */
export const clientOptions = ({ port, packageName }: GrpcServer, projectId: string) => ({
  apiEndpoint: "127.0.0.1",
  port,
  sslCreds: credentials.createInsecure(),
  "grpc.callInvocationTransformer": recordCalls(rootOf(packageName)),
  projectId,
});
