/** A gRPC server over the proto definitions that Google's own client packages carry. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import * as grpc from "@grpc/grpc-js";
import { fromJSON } from "@grpc/proto-loader";
import protobuf from "protobufjs";
import type { FaultKind, Faults } from "./faults.ts";

const require = createRequire(import.meta.url);

/** What a handler throws: a status of gRPC with its words. */
export class GrpcFailure extends Error {
  readonly code: grpc.status;

  constructor(code: keyof typeof grpc.status, message: string) {
    super(message);
    this.code = grpc.status[code];
  }
}

// biome-ignore lint/suspicious/noExplicitAny: requests have the shape of whatever proto is served
export type Handler = (request: any) => unknown;

export type Handlers = Readonly<Record<string, Handler>>;

const definitionOf = (packageName: string): protobuf.INamespace => {
  const entry = require.resolve(packageName);
  const root = entry.slice(
    0,
    entry.lastIndexOf(`${join("node_modules", packageName)}`) + join("node_modules", packageName).length,
  );
  return JSON.parse(readFileSync(join(root, "build", "protos", "protos.json"), "utf8"));
};

const injected: Readonly<Record<FaultKind, () => GrpcFailure>> = {
  unavailable: () => new GrpcFailure("UNAVAILABLE", "injected: the service is unavailable"),
  permission_denied: () => new GrpcFailure("PERMISSION_DENIED", "injected: permission denied"),
  resource_exhausted: () => new GrpcFailure("RESOURCE_EXHAUSTED", "injected: quota exceeded"),
  reply_lost: () => new GrpcFailure("UNAVAILABLE", "injected: the connection broke"),
};

/** Fails before the act, or after it with its answer lost, as the faults say. */
export const withFaults = async <T>(faults: Faults, method: string, act: () => T | Promise<T>): Promise<T> => {
  const fault = faults.enter(method);
  if (fault !== undefined && fault !== "reply_lost") throw injected[fault]();
  const answer = await act();
  if (fault === "reply_lost") throw injected.reply_lost();
  return answer;
};

export interface GrpcServer {
  readonly port: number;
  /** Options with which the official clients talk to it. */
  readonly clientOptions: { apiEndpoint: string; port: number; sslCreds: grpc.ChannelCredentials; projectId: string };
  close(): void;
}

/** A message as the wire would give it back: enums by name, 64-bit numbers as text, every default written out. */
export const messages = (packageName: string) => {
  const root = protobuf.Root.fromJSON(definitionOf(packageName));
  const settings = { longs: String, enums: String, defaults: true, arrays: true, objects: true };
  return {
    normal: (type: string, value: object): Record<string, unknown> => {
      const found = root.lookupType(type);
      return found.toObject(found.fromObject(value), settings);
    },
    any: (type: string, value: object) => {
      const found = root.lookupType(type);
      return {
        type_url: `type.googleapis.com/${type}`,
        value: Buffer.from(found.encode(found.fromObject(value)).finish()),
      };
    },
  };
};

/** @param services handlers by the full name of the service and the method's name as in the proto */
export const serveGrpc = async (
  packageName: string,
  services: Readonly<Record<string, Handlers>>,
  faults: Faults,
): Promise<GrpcServer> => {
  const definition = fromJSON(definitionOf(packageName), {
    longs: String,
    enums: String,
    defaults: false,
    oneofs: false,
  });
  const server = new grpc.Server();
  for (const [name, handlers] of Object.entries(services)) {
    const short = name.split(".").at(-1);
    const implementation = Object.entries(handlers).map(([method, handler]) => {
      const serve: grpc.handleUnaryCall<unknown, unknown> = (call, answer) => {
        withFaults(faults, `${short}.${method}`, () => handler(call.request)).then(
          (value) => answer(null, value),
          (error: unknown) => {
            if (error instanceof GrpcFailure) return answer({ code: error.code, message: error.message });
            answer({ code: grpc.status.INTERNAL, message: `the fake met a bug: ${(error as Error).stack}` });
          },
        );
      };
      return [method, serve];
    });
    server.addService(definition[name] as grpc.ServiceDefinition, Object.fromEntries(implementation));
  }
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return {
    port,
    clientOptions: {
      apiEndpoint: "127.0.0.1",
      port,
      sslCreds: grpc.credentials.createInsecure(),
      projectId: "test-project",
    },
    close: () => server.forceShutdown(),
  };
};
