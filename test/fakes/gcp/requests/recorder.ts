/** Records and checks each request between Google's clients and the fakes. */
import { appendFileSync } from "node:fs";
import type { CallProperties } from "@grpc/grpc-js";
import type protobuf from "protobufjs";
import { checkMessage } from "./check-message.ts";
import { checkRest, type SentRequest } from "./check-rest.ts";
import { digest } from "./digest.ts";
import { withoutExceptions } from "./exceptions.ts";
import { addViolations } from "./violations.ts";

/** The file to which each process adds a line for each method, once; `count.ts` reads it. */
const file = process.env["PORTSIDE_GCP_REQUESTS"] || undefined;
const met = new Set<string>();

const record = (method: string, problems: readonly string[]): void => {
  addViolations(method, withoutExceptions(method, problems));
  if (file === undefined || met.has(method)) return;
  met.add(method);
  appendFileSync(file, `${method}\n`);
};

export const recordRest = (request: SentRequest): void => {
  const { method, problems } = checkRest(digest(), request);
  record(method, problems);
};

/** For the `callInvocationTransformer` of a gRPC client, which sees the request before protobufjs encodes it. */
export const recordCalls =
  (root: protobuf.Root) =>
  <Q, P>(call: CallProperties<Q, P>): CallProperties<Q, P> => {
    const { path } = call.methodDefinition;
    const [, service = "", method = ""] = path.split("/");
    const { requestType } = root.lookupService(service).methods[method] as protobuf.Method;
    const type = root.lookupType(requestType);
    const problems = checkMessage(digest().outputOnly, type, call.argument as object);
    record(`gRPC ${path}`, problems);
    return call;
  };
