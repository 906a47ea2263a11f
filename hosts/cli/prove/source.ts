/** The service that a run deploys: one file for Node without dependencies, packed in memory. */
import { treeOfTexts } from "../../packer/file-tree.ts";
import { packSource } from "../../packer/pack.ts";
import type { Packed } from "../deploy/pack.ts";

/** Where the service mounts the run's volume. */
export const MOUNT_PATH = "/mnt/portside-prove";

/** The header that carries the run's random token. The public service answers only requests with the token. */
export const TOKEN_HEADER = "x-prove-token";

export const EXIT_CODE = 3;

export interface ServiceSource {
  /** Makes the source unique, so that the platform must build it. Also the prefix of the service's log lines. */
  readonly run: string;
  readonly version: number;
}

/** The last line of the service before it exits with `EXIT_CODE`. */
export const exitLine = (run: string): string => `${run} exits with ${EXIT_CODE}`;
export const lineStart = (run: string): string => `${run} line `;
export const firedLine = (run: string): string => `${run} fired`;

/** Plain processes have no mounts: PORTSIDE_MOUNTS names the folder (docs/volumes.md). */
const serverOf = ({ run, version }: ServiceSource): string => `import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";

const { PROVE_TOKEN, PROVE_VALUE = "", PROVE_EXIT, CRON_TOKEN, PORT, PORTSIDE_MOUNTS = "{}" } = process.env;
const folder = JSON.parse(PORTSIDE_MOUNTS)["${MOUNT_PATH}"] ?? "${MOUNT_PATH}";

const pathOf = ({ searchParams }) => {
  const name = searchParams.get("name") ?? "";
  if (!/^[a-z]+[.]txt$/.test(name)) throw new Error("invalid name");
  return join(folder, name);
};

const printLines = ({ searchParams }) => {
  const [from, to] = [Number(searchParams.get("from")), Number(searchParams.get("to"))];
  for (let n = from; n <= to; n++) console.log("${lineStart(run)}" + n);
  return "";
};

const routes = {
  "GET /": () => JSON.stringify({ run: "${run}", version: ${version}, value: PROVE_VALUE }),
  "POST /lines": printLines,
  "GET /file": (url) => readFileSync(pathOf(url)),
  "PUT /file": (url, body) => { writeFileSync(pathOf(url), body); return ""; },
};

const fire = (headers) => {
  const valid = headers["x-cron-token"] === CRON_TOKEN;
  console.log(valid ? "${firedLine(run)}" : "${run} received a fire with another token");
  return valid ? 204 : 403;
};

const server = createServer(async (request, response) => {
  const url = new URL(request.url, "http://service");
  const route = request.method + " " + url.pathname;
  const body = await text(request);
  if (route === "POST /cron") return response.writeHead(fire(request.headers)).end();
  if (request.headers["${TOKEN_HEADER}"] !== PROVE_TOKEN) return response.writeHead(401).end();
  if (routes[route] === undefined) return response.writeHead(404).end();
  try {
    response.end(routes[route](url, body));
  } catch (error) {
    response.writeHead(500).end(String(error.code ?? error));
  }
});

// Longer than the idle timeout of load balancers (AWS: 4000 s).
server.keepAliveTimeout = 4_010_000;
if (PROVE_EXIT === undefined) server.listen(PORT);
else {
  console.error("${exitLine(run)}");
  process.exitCode = Number(PROVE_EXIT);
}
process.on("SIGTERM", () => server.close(() => process.exit(0)));
`;

/** Returns the source as a tar.gz. Writes nothing to disk, so that a killed run leaves no files on this machine. */
export const packService = async (source: ServiceSource): Promise<Packed> => {
  const project = { name: "portside-prove", private: true, type: "module", scripts: { start: "node server.js" } };
  const files = { "package.json": JSON.stringify(project), "server.js": serverOf(source) };
  const bytes = Buffer.concat(await Array.fromAsync(packSource(treeOfTexts(files))));
  async function* open(): AsyncGenerator<Uint8Array> {
    yield bytes;
  }
  return { bytes: bytes.length, files: Object.keys(files).length, open, [Symbol.asyncDispose]: async () => {} };
};
