/**
 * Runs the third-party fake-gcs-server (https://github.com/fsouza/fake-gcs-server) as the object store. It provides
 * listings, uploads, downloads, generations and their conditions. A proxy in front adds what it lacks: buckets' labels,
 * metagenerations and policies, and the check of signatures.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import type { StorageOptions } from "@google-cloud/storage";
import { startOnFreePort } from "../../../support/http/free-port.ts";
import { RestError } from "../rest-server.ts";
import { type FakeStorage, startFakeStorage } from "./index.ts";
import { checkSignature } from "./signature.ts";
import { xmlFailure } from "./xml-api.ts";

/** Forwards the request unchanged, and returns the response. */
const passOn = async (req: IncomingMessage, res: ServerResponse, to: string, body?: Buffer): Promise<void> => {
  const { hostname, port, host } = new URL(to);
  const sent = request({ hostname, port, method: req.method, path: req.url, headers: { ...req.headers, host } });
  const answered = once(sent, "response") as Promise<[IncomingMessage]>;
  if (body === undefined) await pipeline(req, sent);
  else sent.end(body);
  const [answer] = await answered;
  res.writeHead(answer.statusCode ?? 500, answer.headers);
  await pipeline(answer, res);
};

const isObjects = (path: string): boolean => /^\/(upload\/)?storage\/v1\/b\/[^/]+\/o(\/|$)/.test(path);

/** Responds with the failure if the signature does not allow the request. */
const isAllowed = (fake: FakeStorage, req: IncomingMessage, res: ServerResponse): boolean => {
  const { pathname, searchParams: query } = new URL(req.url ?? "/", fake.url);
  const headers = Object.fromEntries(Object.entries(req.headers).map(([name, value]) => [name, String(value)]));
  const path = pathname.split("/").map(decodeURIComponent).join("/");
  try {
    checkSignature({ verb: req.method ?? "GET", path, query, headers }, Date.now(), () => fake.publicKey);
    return true;
  } catch (error) {
    if (!(error instanceof RestError)) throw error;
    const { status, headers: refusal, body } = xmlFailure(error);
    req.resume();
    res.writeHead(status, { ...refusal }).end(body);
    return false;
  }
};

export interface IndependentStorage {
  readonly storageClientOptions: StorageOptions;
  close(): Promise<void>;
}

/** Starts fake-gcs-server without buckets. `program` is its path. */
export const startFakeGcsServer = (program: string) =>
  startOnFreePort((port) => {
    const place = ["-scheme", "http", "-host", "127.0.0.1", "-port", String(port), "-public-host", `127.0.0.1:${port}`];
    return spawn(program, [...place, "-backend", "memory", "-log-level", "error"], { stdio: "ignore" });
  }, "/storage/v1/b?project=p");

/** @param program path of fake-gcs-server */
export const startIndependentStorage = async (program: string): Promise<IndependentStorage> => {
  const { child, url: objects } = await startFakeGcsServer(program);
  const fake = await startFakeStorage();

  const serve = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const path = req.url?.split("?")[0] ?? "/";
    if (isObjects(path)) return passOn(req, res, objects);
    if (!path.startsWith("/storage/v1/b")) return isAllowed(fake, req, res) ? passOn(req, res, objects) : undefined;
    if (req.method !== "POST" || path !== "/storage/v1/b") return passOn(req, res, fake.url);
    // Create the bucket on both sides.
    const body = await buffer(req);
    const { name } = JSON.parse(body.toString()) as { name: string };
    await fetch(`${objects}${req.url}`, { method: "POST", body: JSON.stringify({ name }) });
    return passOn(req, res, fake.url, body);
  };

  const server = createServer((req, res) => void serve(req, res).catch(() => res.destroy()));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const apiEndpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    storageClientOptions: { ...fake.storageClientOptions, apiEndpoint },
    close: async () => {
      server.closeAllConnections();
      server.close();
      child.kill("SIGKILL");
      await fake.close();
    },
  };
};
