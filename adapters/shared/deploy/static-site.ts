/** The command that serves a folder of static files with Node, on every provider. */

const TYPES = {
  html: "text/html; charset=utf-8",
  htm: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  mjs: "text/javascript; charset=utf-8",
  json: "application/json",
  map: "application/json",
  webmanifest: "application/manifest+json",
  xml: "application/xml",
  txt: "text/plain; charset=utf-8",
  md: "text/markdown; charset=utf-8",
  svg: "image/svg+xml",
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  avif: "image/avif",
  ico: "image/x-icon",
  woff: "font/woff",
  woff2: "font/woff2",
  ttf: "font/ttf",
  wasm: "application/wasm",
  pdf: "application/pdf",
  mp4: "video/mp4",
  webm: "video/webm",
  mp3: "audio/mpeg",
} as const;

/**
 * The program must not contain single quotes, dollar signs or comments, because it is one word of a shell command. It
 * serves neither portside.json, which may contain the service's environment, nor paths with a part that begins with a
 * dot, except `/.well-known`. It keeps idle connections open for longer than AWS's load balancer does (4000 s).
 */
const PROGRAM = `
const { createServer } = require("node:http");
const { createReadStream, statSync } = require("node:fs");
const { extname, join } = require("node:path");
const types = ${JSON.stringify(TYPES)};
const fileAt = (path) => {
  try {
    const found = statSync(path);
    return found.isFile() ? { path, size: found.size, tag: "\\"" + found.size.toString(36) + "-" + Math.round(found.mtimeMs).toString(36) + "\\"" } : found.isDirectory() ? "folder" : undefined;
  } catch {
    return undefined;
  }
};
const isHidden = (parts) => parts.join("/") === "portside.json" || parts.some((part, at) => part.startsWith(".") && !(at === 0 && part === ".well-known"));
const find = (url) => {
  let path;
  try { path = decodeURIComponent(url.split("?")[0]); } catch { return undefined; }
  const parts = path.split("/").filter((part) => part !== "");
  if (isHidden(parts) || path.includes(String.fromCharCode(0))) return undefined;
  const found = fileAt(join(process.cwd(), ...parts));
  if (found !== "folder") return path.endsWith("/") ? undefined : found;
  const index = fileAt(join(process.cwd(), ...parts, "index.html"));
  if (index === undefined || index === "folder") return undefined;
  return path.endsWith("/") ? index : { location: "/" + parts.map(encodeURIComponent).join("/") + "/" };
};
const give = (request, response, status, file) => {
  const headers = { "content-type": types[extname(file.path).slice(1).toLowerCase()] ?? "application/octet-stream", "x-content-type-options": "nosniff", etag: file.tag, "cache-control": "no-cache" };
  if (status === 200 && request.headers["if-none-match"] === file.tag) return response.writeHead(304, headers).end();
  response.writeHead(status, { ...headers, "content-length": file.size });
  if (request.method === "HEAD") return response.end();
  createReadStream(file.path).on("error", () => response.destroy()).pipe(response);
};
const server = createServer((request, response) => {
  if (request.method !== "GET" && request.method !== "HEAD") return response.writeHead(405, { allow: "GET, HEAD" }).end();
  const found = find(request.url);
  if (found?.location !== undefined) return response.writeHead(308, { location: found.location }).end();
  if (found !== undefined) return give(request, response, 200, found);
  const page = fileAt(join(process.cwd(), "404.html"));
  if (page?.path !== undefined) return give(request, response, 404, page);
  response.writeHead(404, { "content-type": "text/plain" }).end("Not found\\n");
});
server.keepAliveTimeout = 4_010_000;
server.listen(process.env.PORT, "0.0.0.0");
process.on("SIGTERM", () => server.close(() => process.exit(0)));
`;

export const STATIC_COMMAND = `exec node -e '${PROGRAM.trim()
  .split("\n")
  .map((line) => line.trim())
  .join(" ")}'`;
