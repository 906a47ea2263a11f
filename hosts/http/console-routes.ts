/**
 * Serves the console, a page that uses the public API only. Its files have hashes in their names, except the index and
 * the icon.
 */
import { existsSync, globSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ControlPlane } from "../../core/control-plane.ts";
import type { ClientContext } from "./accounts/client-context.ts";
import { rejectOtherMethods } from "./other-methods.ts";

type SignInMethod = ClientContext["console"]["sign_in"][number];

interface ConsoleFile {
  readonly type: string;
  readonly content: Buffer;
  readonly brotli: Buffer | undefined;
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** @param storage the origins that the page uploads to and downloads from, as CSP host sources */
const securityPolicy = (storage: readonly string[]): string =>
  [
    "default-src 'self'",
    ["connect-src 'self'", ...storage].join(" "),
    ["img-src 'self' blob:", ...storage].join(" "),
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");

const securityHeaders = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

const NOT_BUILT =
  "The console is not built. In a clone of Portside, run 'npm run console:build' and restart the server. In a bundle, " +
  "mark 'portside' as external in the bundler (docs/guides/bundling.md).";
const NO_FILE = "The console has no such file. Open /console/.";

/**
 * Returns the folder `dist/console`. Returns undefined if a bundler moved this module, because a folder at that path
 * would belong to the application.
 *
 * @param moduleUrl this module's `import.meta.url`; undefined in a CommonJS bundle
 */
export const builtFolder = (moduleUrl: string | undefined): string | undefined => {
  if (moduleUrl?.endsWith("/hosts/http/console-routes.ts"))
    return fileURLToPath(new URL("../../dist/console", moduleUrl));
  if (moduleUrl?.endsWith("/hosts/http/console-routes.js")) return fileURLToPath(new URL("../../console", moduleUrl));
  return undefined;
};

const readFiles = (folder: string | undefined): ReadonlyMap<string, ConsoleFile> => {
  if (folder === undefined) return new Map();
  const names = globSync("**/*.{html,js,css,svg}", { cwd: folder });
  return new Map(
    names.map((name): [string, ConsoleFile] => {
      const path = join(folder, name);
      const brotli = existsSync(`${path}.br`) ? readFileSync(`${path}.br`) : undefined;
      const type = types[extname(name)] ?? "application/octet-stream";
      return [name.replaceAll("\\", "/"), { type, content: readFileSync(path), brotli }];
    }),
  );
};

const sendFile = (request: FastifyRequest, reply: FastifyReply, { type, content, brotli }: ConsoleFile) => {
  reply.type(type).header("vary", "accept-encoding");
  const accepts = /\bbr\b/.test(String(request.headers["accept-encoding"] ?? ""));
  return accepts && brotli !== undefined ? reply.header("content-encoding", "br").send(brotli) : reply.send(content);
};

/**
 * Returns a function that returns the storage origins. The function caches the origins after the first successful read.
 * Concurrent requests share one read, because anyone may request the page. Without the origins, the page works except
 * for uploads and downloads.
 */
const createOriginReader = (controlPlane: ControlPlane) => {
  let known: readonly string[] | undefined;
  let reading: Promise<readonly string[]> | undefined;
  const read = async (log: FastifyBaseLogger): Promise<readonly string[]> => {
    const origins = await controlPlane.storageOrigins();
    if (origins.isErr())
      log.warn({ err: origins.error }, "The console cannot upload: the origins of the storage are unknown.");
    else known = origins.value;
    return known ?? [];
  };
  return async ({ log }: FastifyRequest): Promise<readonly string[]> => {
    if (known !== undefined) return known;
    reading ??= read(log).finally(() => {
      reading = undefined;
    });
    return reading;
  };
};

/**
 * Adds `/console/`. Reads the files once, on the first request. `/console/sign-in.json` needs no session, so that the
 * page can offer only the sign-in methods that work.
 *
 * @param methods the member `console.sign_in` of `GET /v1/capabilities`
 */
export const consoleRoutes = (
  app: FastifyInstance,
  controlPlane: ControlPlane,
  methods: readonly SignInMethod[],
): void => {
  const originsOf = createOriginReader(controlPlane);
  let files: ReadonlyMap<string, ConsoleFile> | undefined;
  // A relative target works under any prefix, including one that a proxy removes.
  app.get("/console", (_request, reply) => reply.redirect("console/"));
  app.get("/console/sign-in.json", (_request, reply) =>
    reply.headers(securityHeaders).header("cache-control", "no-store").send({ sign_in: methods }),
  );
  app.get<{ Params: { "*": string } }>("/console/*", async (request, reply) => {
    files ??= readFiles(builtFolder(import.meta.url));
    const name = request.params["*"] || "index.html";
    const file = files.get(name);
    const policy = securityPolicy(await originsOf(request));
    reply.headers(securityHeaders).header("content-security-policy", policy);
    if (file === undefined) return reply.code(404).send({ detail: files.size === 0 ? NOT_BUILT : NO_FILE });
    const isHashed = name.startsWith("assets/");
    reply.header("cache-control", isHashed ? "public, max-age=31536000, immutable" : "no-cache");
    return sendFile(request, reply, file);
  });
  for (const url of ["/console", "/console/sign-in.json", "/console/*"]) rejectOtherMethods(app, url, ["GET"]);
};
