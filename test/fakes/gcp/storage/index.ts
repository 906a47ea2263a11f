/**
 * Cloud Storage on a loopback port, for the official client and for signed URLs: the JSON API, the XML API with V4
 * signatures, and IAM's signBlob. Written from the documentation alone; the record of assumptions lists what that
 * leaves open.
 */
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import type { StorageOptions } from "@google-cloud/storage";
import { GoogleAuth } from "google-auth-library";
import { millisOf } from "../../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../../core/ports/system.ts";
import { MountedFolders } from "../../engine/mounted-folders.ts";
import { Faults } from "../../faults.ts";
import { recordRest } from "../requests/recorder.ts";
import { injected, RestError } from "../rest-server.ts";
import { PROJECT } from "../test-project.ts";
import { preflight, withCors } from "./cors.ts";
import { failure, jsonFailure, jsonReply, type Reply } from "./failure.ts";
import { answerJson, jsonMethod } from "./json-api.ts";
import { checkSignature } from "./signature.ts";
import { Uploads } from "./upload.ts";
import { StorageWorld } from "./world.ts";
import { answerXml, xmlFailure, xmlMethod } from "./xml-api.ts";

export interface FakeStorageOptions {
  /** The storage's clock; defaults to the machine's. */
  readonly clock?: Pick<Clock, "now">;
  readonly faults?: Faults;
  /** Parent of bucket folders; defaults to a temporary folder. */
  readonly folder?: string;
}

export interface FakeStorage {
  readonly url: string;
  /** For `new Storage(...)`; its key signs URLs. */
  readonly storageClientOptions: StorageOptions;
  /** The key's service account. */
  readonly email: string;
  readonly publicKey: KeyObject;
  readonly world: StorageWorld;
  readonly faults: Faults;
  readonly uploads: Uploads;
  /** Runs `act` once, just before the method's next call acts: simulates a concurrent client. */
  meanwhile(method: string, act: () => void): void;
  /** Backs the bucket with a local folder from now on; throws if the bucket does not exist. */
  folderOf(bucket: string): string;
  close(): Promise<void>;
}

const EMAIL = `platform@${PROJECT}.iam.gserviceaccount.com`;

/** Shared by all fakes of a process: key generation is slow. */
let keys: ReturnType<typeof generateKeyPairSync> | undefined;
const keyPair = () => {
  keys ??= generateKeyPairSync("rsa", { modulusLength: 2048 });
  return keys;
};

interface Call {
  readonly method: string;
  /** The bucket that the call concerns, or an empty string. */
  readonly bucket: string;
  readonly failed: (error: RestError) => Reply;
  readonly act: (body: Buffer) => Reply;
}

const decoded = (path: string): string[] => path.split("/").map(decodeURIComponent);

const headersOf = ({ headers }: IncomingMessage): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat().join(",")]));

/** https://cloud.google.com/iam/docs/reference/credentials/rest/v1/projects.serviceAccounts/signBlob */
const signBlob = (path: string, body: Buffer): Reply => {
  if (path !== `/v1/projects/-/serviceAccounts/${EMAIL}:signBlob`) throw failure(404, "notFound", "Unknown account");
  const { payload } = JSON.parse(body.toString()) as { payload: string };
  const signature = sign("RSA-SHA256", Buffer.from(payload, "base64"), keyPair().privateKey);
  return jsonReply({ keyId: "1", signedBlob: signature.toString("base64") });
};

const jsonCall = (world: StorageWorld, req: IncomingMessage, path: string, query: URLSearchParams): Call => {
  const verb = req.method ?? "GET";
  const parts = decoded(path.slice("/storage/v1/b".length)).filter((_, index) => index > 0);
  const method = jsonMethod(verb, parts);
  const act = (body: Buffer): Reply => {
    if (method === undefined) throw failure(404, "notFound", "Not Found");
    const json = () => JSON.parse(body.toString()) as Record<string, unknown>;
    return answerJson(world, { method, parts, query, body: json, range: req.headers.range });
  };
  return { method: method ?? "storage.unknown", bucket: parts[0] ?? "", failed: jsonFailure, act };
};

const xmlCall = (world: StorageWorld, req: IncomingMessage, path: string, query: URLSearchParams): Call => {
  const verb = req.method ?? "GET";
  const headers = headersOf(req);
  const [, bucket = "", ...rest] = decoded(path);
  const readable = (reply: Reply) => withCors(world.live.get(bucket), verb, headers, reply);
  const act = (body: Buffer): Reply => {
    if (verb === "OPTIONS") return preflight(world.bucket(bucket), headers);
    const object = rest.join("/");
    const keyOf = (email: string) => (email === EMAIL ? keyPair().publicKey : undefined);
    // The platform's own calls have a token, which the fake accepts, as in the JSON API.
    if (headers["authorization"]?.startsWith("Bearer ") !== true)
      checkSignature({ verb, path: `/${bucket}/${object}`, query, headers }, world.now(), keyOf);
    return readable(answerXml(world, { verb, bucket, object, query, headers, body }));
  };
  return { method: xmlMethod(verb), bucket, failed: (error) => readable(xmlFailure(error)), act };
};

export const startFakeStorage = async (options: FakeStorageOptions = {}): Promise<FakeStorage> => {
  const { clock, faults = new Faults(), folder = mkdtempSync(join(tmpdir(), "portside-gcs-")) } = options;
  const world = new StorageWorld(clock === undefined ? Date.now : () => millisOf(clock.now()));
  const uploads = new Uploads(world);
  const folders = new MountedFolders(world, folder);
  const others = new Map<string, () => void>();
  let url = "";

  const callOf = (req: IncomingMessage): Call => {
    const verb = req.method ?? "GET";
    const target = new URL(req.url ?? "/", url);
    const { pathname: path, searchParams: query } = target;
    if (path.startsWith("/upload/storage/v1/b/")) {
      const id = query.get("upload_id");
      const [bucket = ""] = decoded(path.slice("/upload/storage/v1/b/".length));
      const headers = headersOf(req);
      if (id !== null && verb === "DELETE")
        return { method: "storage.objects.cancel", bucket, failed: jsonFailure, act: () => uploads.cancel(id) };
      return {
        method: id === null ? "storage.objects.insert" : "storage.objects.insert.chunk",
        bucket,
        failed: jsonFailure,
        act: (body) =>
          id === null
            ? uploads.start({ bucket, query, headers, body, url: target.href })
            : uploads.resume(id, headers["content-range"], body),
      };
    }
    if (path.startsWith("/storage/v1/b")) return jsonCall(world, req, path, query);
    if (path.endsWith(":signBlob") && verb === "POST")
      return {
        method: "iam.signBlob",
        bucket: "",
        failed: jsonFailure,
        act: (body) => signBlob(decodeURIComponent(path), body),
      };
    return xmlCall(world, req, path, query);
  };

  /** Checks calls of the JSON APIs. The XML API has no discovery document. */
  const check = (req: IncomingMessage, body: Buffer): void => {
    const target = new URL(req.url ?? "/", url);
    const host = /^\/(upload\/)?storage\/v1\//.test(target.pathname)
      ? "storage.googleapis.com"
      : target.pathname.endsWith(":signBlob") && "iamcredentials.googleapis.com";
    const { method: verb = "GET", headers } = req;
    if (host) recordRest({ host, verb, url: target, contentType: headers["content-type"], body });
  };

  const run = ({ method, bucket, act, failed }: Call, body: Buffer): Reply => {
    const other = others.get(method);
    others.delete(method);
    other?.();
    try {
      folders.pull(bucket);
      const reply = act(body);
      folders.push(bucket);
      return reply;
    } catch (error) {
      if (error instanceof RestError) return failed(error);
      throw error;
    }
  };

  const serve = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const call = callOf(req);
    const fault = faults.enter(call.method);
    const body = await buffer(req);
    check(req, body);
    const isRefused = fault !== undefined && fault !== "reply_lost";
    const reply = isRefused ? call.failed(injected[fault]) : run(call, body);
    if (fault === "reply_lost") return void res.destroy();
    const bytes = reply.body ?? "";
    res.writeHead(reply.status, { "content-length": Buffer.byteLength(bytes), ...reply.headers });
    res.end(req.method === "HEAD" ? undefined : bytes);
  };

  const server = createServer((req, res) => {
    serve(req, res).catch((error: unknown) => {
      // Ignore a request that the client aborted. Any other error is a bug in the fake, and must be visible.
      if (!req.complete) return void res.destroy();
      const { status, headers, body } = jsonFailure(failure(400, "fake", `The fake failed: ${String(error)}`));
      res.writeHead(status, { ...headers }).end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const privateKey = keyPair().privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  // The client warns about credentials passed in directly.
  const auth = new GoogleAuth({ projectId: PROJECT });
  auth.jsonContent = { type: "service_account", client_email: EMAIL, private_key: privateKey };
  return {
    url,
    email: EMAIL,
    publicKey: keyPair().publicKey,
    storageClientOptions: {
      apiEndpoint: url,
      projectId: PROJECT,
      authClient: auth,
      retryOptions: { autoRetry: false },
    },
    world,
    faults,
    uploads,
    meanwhile: (method, act) => void others.set(method, act),
    folderOf: (bucket) => folders.folderOf(bucket),
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      folders.close();
    },
  };
};
