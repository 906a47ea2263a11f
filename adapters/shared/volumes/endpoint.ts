/**
 * Serves signed URLs over HTTP/1.1: GET with ranges and conditions, HEAD, PUT of objects and parts, POST to complete an
 * upload in parts, and CORS preflights.
 * https://www.rfc-editor.org/rfc/rfc9110
 * https://fetch.spec.whatwg.org/#http-cors-protocol
 */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import fresh from "fresh";
import mime from "mime";
import parseRange from "range-parser";
import type { ObjectPath } from "../../../core/domain/volumes/object-path.ts";
import type { Clock, Logger } from "../../../core/ports/system.ts";
import { drainBody } from "../calls/drain-body.ts";
import { diskFaultOf, storeUnavailable } from "../runtime/disk-fault.ts";
import { completionOf, malformed, readParts, respondLater } from "./completion.ts";
import { storageCors } from "./cors.ts";
import { conditionsHold, type FoundObject, type ObjectBytes, type PutOutcome } from "./object-bytes.ts";
import {
  readTarget,
  readUpload,
  type StorageMethod,
  type StorageTarget,
  signatureProblem,
  type UploadRight,
} from "./signed-url.ts";

export interface StorageDeps {
  readonly objects: ObjectBytes;
  /** The key that signs the URLs. */
  readonly key: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Headers that prevent a browser from running untrusted content or guessing its type. */
const harmless: OutgoingHttpHeaders = {
  "content-security-policy": "sandbox",
  "x-content-type-options": "nosniff",
  "cache-control": "private, no-cache",
};

/** Lets pages of any origin read every response, including errors. */
const forAnyOrigin = new Map([
  ["access-control-allow-origin", storageCors.origin],
  ["access-control-expose-headers", storageCors.exposedHeaders.join(", ")],
]);

const METHODS = "GET, HEAD, POST, PUT";

/**
 * The headers of a preflight response. A preflight succeeds for every object and signature, so that the page can send
 * the request and read its error.
 */
const preflight: OutgoingHttpHeaders = {
  allow: METHODS,
  "access-control-allow-methods": storageCors.methods.join(", "),
  "access-control-allow-headers": storageCors.requestHeaders.join(", "),
  "access-control-max-age": String(storageCors.maxAgeSeconds),
};

const answer = (res: ServerResponse, status: number, detail: string, headers: OutgoingHttpHeaders = {}): void => {
  const body = JSON.stringify({ detail });
  res.writeHead(status, { ...headers, "content-type": "application/json", "content-length": Buffer.byteLength(body) });
  res.end(body);
};

const methodOf = (method: string | undefined): StorageMethod | undefined =>
  method === "HEAD" ? "GET" : method === "GET" || method === "POST" || method === "PUT" ? method : undefined;

/** With `If-Range`, a range applies only if the object still has the given entity tag or modification time. */
const rangeCounts = ({ headers }: IncomingMessage, { etag, modified }: FoundObject): boolean => {
  const only = headers["if-range"] as string | undefined;
  if (only === undefined || only === etag) return true;
  return Math.floor(modified / 1000) * 1000 === Date.parse(only);
};

type Span = { readonly start: number; readonly end: number };

/** Returns the requested range, `unsatisfiable` if it is outside the object, or undefined for the whole object. */
const spanOf = (req: IncomingMessage, object: FoundObject): Span | "unsatisfiable" | undefined => {
  const { range } = req.headers;
  if (range === undefined || req.method !== "GET" || !rangeCounts(req, object)) return undefined;
  const ranges = parseRange(object.size, range);
  if (ranges === -1) return "unsatisfiable";
  // For unknown range units and multiple ranges, the server may return the whole object.
  return ranges === -2 || ranges.type !== "bytes" || ranges.length !== 1 ? undefined : ranges[0];
};

const send = async (req: IncomingMessage, res: ServerResponse, path: ObjectPath, object: FoundObject) => {
  const { etag, modified, size } = object;
  const head = { ...harmless, etag, "last-modified": new Date(modified).toUTCString(), "accept-ranges": "bytes" };
  const close = (status: number, headers: OutgoingHttpHeaders) => {
    res.writeHead(status, { ...head, ...headers }).end();
    return object.close();
  };
  if (!conditionsHold({ ifMatch: req.headers["if-match"], ifNoneMatch: undefined }, etag))
    return close(412, { "content-length": 0 });
  // Ignores the client's Cache-Control, which is for caches. This server is the origin.
  const { "if-none-match": noneOf, "if-modified-since": since } = req.headers;
  if (fresh({ "if-none-match": noneOf, "if-modified-since": since }, { etag, "last-modified": head["last-modified"] }))
    return close(304, {});
  const span = spanOf(req, object);
  if (span === "unsatisfiable") return close(416, { "content-range": `bytes */${size}`, "content-length": 0 });
  const { start, end } = span ?? { start: 0, end: size - 1 };
  const headers: OutgoingHttpHeaders = {
    ...head,
    "content-type": mime.getType(path) ?? "application/octet-stream",
    "content-length": end - start + 1,
    ...(span === undefined ? {} : { "content-range": `bytes ${start}-${end}/${size}` }),
  };
  const status = span === undefined ? 200 : 206;
  if (req.method === "HEAD" || size === 0) return close(status, headers);
  res.writeHead(status, headers);
  await pipeline(object.bytes(start, end), res);
};

const RETRY: OutgoingHttpHeaders = { "retry-after": "5" };

const answerPut = (res: ServerResponse, path: ObjectPath, outcome: PutOutcome): void => {
  switch (outcome.kind) {
    case "stored":
      res.writeHead(outcome.created ? 201 : 200, { etag: outcome.etag, "content-length": 0 }).end();
      return;
    case "no_volume":
      return answer(res, 404, "The volume does not exist. It may have been deleted.");
    case "condition_failed":
      return answer(
        res,
        412,
        `'${path}' does not match the request's If-Match or If-None-Match. Read the object again.`,
      );
    case "in_the_way":
      return answer(
        res,
        409,
        `'${path}' cannot be stored together with '${outcome.other}': a name is either a file or a folder. Delete '${outcome.other}', or choose a different path.`,
      );
    case "busy":
      return answer(res, 503, `'${path}' could not be written: a service is changing its folder. Try again.`, RETRY);
  }
};

/** How long an upload may pause before the server aborts it, in milliseconds. */
const SILENCE_MS = 120_000;

const receivePart = async (
  { objects }: StorageDeps,
  req: IncomingMessage,
  res: ServerResponse,
  { bucket, path }: StorageTarget,
  { upload, part, length }: UploadRight,
) => {
  const announced = req.headers["content-length"];
  if (announced === undefined) return answer(res, 411, "A part requires a Content-Length.");
  if (Number(announced) !== length)
    return answer(res, 400, `Part ${part} must have ${length} bytes, but the request has ${announced}.`);
  req.setTimeout(SILENCE_MS, () => req.destroy());
  if (awaitsContinue(req)) res.writeContinue();
  const outcome = await objects.putPart(bucket, path, upload, part, req);
  if (outcome.kind === "no_upload") return answer(res, 404, "The upload does not exist. It may be complete.");
  res.writeHead(200, { etag: outcome.etag, "content-length": 0 }).end();
};

const complete = async (
  { objects, logger }: StorageDeps,
  req: IncomingMessage,
  res: ServerResponse,
  { bucket, path }: StorageTarget,
  { upload, length }: UploadRight,
) => {
  req.setTimeout(SILENCE_MS, () => req.destroy());
  if (awaitsContinue(req)) res.writeContinue();
  const parts = await readParts(req);
  req.setTimeout(0);
  if (parts === undefined) return respondLater(res, Promise.resolve(malformed));
  const { "if-match": ifMatch, "if-none-match": ifNoneMatch } = req.headers;
  const work = objects.complete(bucket, path, upload, parts, length, { ifMatch, ifNoneMatch }).then((outcome) => {
    if (outcome.kind === "busy") logger.warn("could not commit an upload", { bucket, path, cause: outcome.cause });
    return completionOf(path, length, outcome);
  });
  return respondLater(res, work);
};

const receive = async (
  { objects, logger }: StorageDeps,
  req: IncomingMessage,
  res: ServerResponse,
  { bucket, path }: StorageTarget,
) => {
  if (req.headers["content-range"] !== undefined)
    return answer(res, 400, "Partial uploads are not supported. Send the whole object, without Content-Range.");
  req.setTimeout(SILENCE_MS, () => req.destroy());
  // Send 100 only now, so that the client does not send a body that the checks above would reject.
  if (awaitsContinue(req)) res.writeContinue();
  const { "if-match": ifMatch, "if-none-match": ifNoneMatch } = req.headers;
  const outcome = await objects.put(bucket, path, req, { ifMatch, ifNoneMatch });
  if (outcome.kind === "busy") logger.warn("could not commit an upload", { bucket, path, cause: outcome.cause });
  answerPut(res, path, outcome);
};

const serve = async (deps: StorageDeps, req: IncomingMessage, res: ServerResponse): Promise<void> => {
  if (req.method === "OPTIONS") return void res.writeHead(204, preflight).end();
  const method = methodOf(req.method);
  if (method === undefined)
    return answer(res, 405, "Use GET, HEAD or PUT for an object, or POST to complete an upload.", { allow: METHODS });
  const target = readTarget(req.url ?? "");
  if (target === undefined) return answer(res, 404, "The URL does not name an object.");
  const problem = signatureProblem(deps.key, method, target, deps.clock.now());
  if (problem !== undefined) return answer(res, 403, problem);
  const upload = readUpload(target.query);
  if (upload !== undefined)
    return method === "PUT" ? receivePart(deps, req, res, target, upload) : complete(deps, req, res, target, upload);
  if (method === "PUT") return receive(deps, req, res, target);
  const object = await deps.objects.find(target.bucket, target.path);
  return object === undefined ? answer(res, 404, "The object does not exist.") : send(req, res, target.path, object);
};

/** Returns true if the client waits for `100 Continue` before it sends its body. */
const awaitsContinue = ({ headers: { expect } }: IncomingMessage): boolean => expect?.toLowerCase() === "100-continue";

const answerProblem = (res: ServerResponse, cause: unknown): void => {
  const fault = diskFaultOf(cause);
  const { message, retryAfterSeconds } = storeUnavailable("The storage is unavailable. Try again.", cause);
  answer(res, fault === "full" ? 507 : 503, message, { "retry-after": String(retryAfterSeconds) });
};

/**
 * Handles a request to the storage. The caller must also call this function for requests that wait for `100 Continue`
 * (the server's `checkContinue` event).
 */
export const serveStorage = (deps: StorageDeps, req: IncomingMessage, res: ServerResponse): void => {
  res.once("close", () => drainBody(req));
  res.setHeaders(forAnyOrigin);
  serve(deps, req, res).catch((cause: unknown) => {
    // Node also marks a completely read request as destroyed.
    const gone = res.destroyed || (req.destroyed && !req.complete);
    if (!gone) deps.logger.error("the storage failed because of an internal error", { cause });
    // Cuts off a response that has begun, so that the client detects that it is incomplete.
    if (gone || res.headersSent) res.destroy();
    else answerProblem(res, cause);
  });
};
