/** A gRPC service on an unmodified `@grpc/grpc-js` server, and calls of an unmodified client. */
import {
  type Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  type ClientWritableStream,
  Metadata,
  type ServiceError,
  type StatusObject,
  status,
} from "@grpc/grpc-js";
import { packagedSource } from "../archives/packages.ts";
import { callbackCode } from "./callback-server.ts";

/** Methods that succeed and fail in every possible way; reports cancelled calls to the callback server. */
export const grpcEcho = packagedSource(
  `
import grpc from "@grpc/grpc-js";
${callbackCode}
const toBytes = (value) => Buffer.from(JSON.stringify(value));
const fromBytes = (bytes) => JSON.parse(bytes.toString());
const method = (name, requestStream, responseStream) => ({
  path: "/test.Echo/" + name, requestStream, responseStream,
  requestSerialize: toBytes, requestDeserialize: fromBytes, responseSerialize: toBytes, responseDeserialize: fromBytes,
});
const trailer = (text) => {
  const metadata = new grpc.Metadata();
  metadata.set("x-trailer", text);
  metadata.set("x-bytes-bin", Buffer.from([0, 255, 1]));
  return metadata;
};
const failure = { code: grpc.status.FAILED_PRECONDITION, details: "not today: 100% (é)", metadata: trailer("of the failure") };
const server = new grpc.Server();
server.addService({
  Unary: method("Unary", false, false), Fail: method("Fail", false, false), Count: method("Count", false, true),
  FailLate: method("FailLate", false, true), Sum: method("Sum", true, false), Chat: method("Chat", true, true),
  Wait: method("Wait", false, true),
}, {
  Unary: (call, done) => {
    const head = new grpc.Metadata();
    head.set("x-head", "of the answer");
    call.sendMetadata(head);
    done(null, { value: call.request.value, metadata: call.metadata.getMap(), host: call.getHost() }, trailer("of the answer"));
  },
  Fail: (call, done) => done(failure),
  Count: (call) => {
    for (let value = 0; value < call.request.value; value++) call.write({ value });
    call.end(trailer("after " + call.request.value));
  },
  FailLate: (call) => {
    call.write({ value: 1 });
    call.write({ value: 2 });
    call.emit("error", failure);
  },
  Sum: (call, done) => {
    let value = 0;
    call.on("data", (message) => { value += message.value; });
    call.on("end", () => done(null, { value }));
  },
  Chat: (call) => {
    call.on("data", (message) => call.write({ value: message.value * 2 }));
    call.on("end", () => call.end());
  },
  Wait: (call) => {
    call.on("cancelled", () => report("cancelled"));
    call.sendMetadata(new grpc.Metadata());
    call.write({ value: 0 });
  },
});
server.bindAsync("127.0.0.1:" + process.env.PORT, grpc.ServerCredentials.createInsecure(), () => undefined);
`,
  "@grpc/grpc-js",
);

export interface Message {
  readonly value: number;
}

const toBytes = (value: Message) => Buffer.from(JSON.stringify(value));
const fromBytes = (bytes: Buffer) => JSON.parse(bytes.toString());
const path = (name: string) => `/test.Echo/${name}`;

interface UnaryResponse {
  // biome-ignore lint/suspicious/noExplicitAny: tests check responses of any type
  readonly message: any;
  readonly error: ServiceError | null;
  readonly head: Metadata;
  readonly end: StatusObject;
}

/** A unary call with all metadata of its response. */
export const unary = (client: Client, name: string, metadata = new Metadata()): Promise<UnaryResponse> =>
  new Promise((resolve) => {
    let head = new Metadata();
    let result: Pick<UnaryResponse, "message" | "error"> = { message: undefined, error: null };
    client
      .makeUnaryRequest(path(name), toBytes, fromBytes, { value: 42 }, metadata, (error, message) => {
        result = { error, message };
      })
      .on("metadata", (metadata) => {
        head = metadata;
      })
      // Resolves after the callback, which may run later than this event.
      .on("status", (end) => setImmediate(() => resolve({ ...result, head, end })));
  });

/** All messages of a call and its status. */
export const drain = async (call: ClientReadableStream<Message> | ClientDuplexStream<Message, Message>) => {
  const values: number[] = [];
  call.on("data", ({ value }: Message) => values.push(value));
  call.on("error", () => undefined);
  const end = await new Promise<StatusObject>((resolve) => call.on("status", resolve));
  return { values, end };
};

export const stream = (client: Client, name: string, value: number) =>
  client.makeServerStreamRequest<Message, Message>(path(name), toBytes, fromBytes, { value });

/** A failure in the form that tests compare. */
export const failed = (end: Pick<StatusObject, "code" | "details" | "metadata">) => ({
  code: end.code,
  details: end.details,
  text: end.metadata.get("x-trailer"),
  bytes: end.metadata.get("x-bytes-bin"),
});

/** The status of `Fail` and `FailLate`. */
export const FAILURE = {
  code: status.FAILED_PRECONDITION,
  details: "not today: 100% (é)",
  text: ["of the failure"],
  bytes: [Buffer.from([0, 255, 1])],
};

/** A call that streams these numbers to the service and returns their sum. */
export const sumOf = (client: Client, values: readonly number[]): Promise<Message | undefined> =>
  new Promise((resolve, reject) => {
    const call: ClientWritableStream<Message> = client.makeClientStreamRequest<Message, Message>(
      path("Sum"),
      toBytes,
      fromBytes,
      (error, message) => (error === null ? resolve(message) : reject(error)),
    );
    for (const value of values) call.write({ value });
    call.end();
  });

/** A bidirectional stream. */
export const chat = (client: Client): ClientDuplexStream<Message, Message> =>
  client.makeBidiStreamRequest<Message, Message>(path("Chat"), toBytes, fromBytes);
