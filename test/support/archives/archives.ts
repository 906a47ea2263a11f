/** Source archives for tests, valid and invalid, made without a tar program. */
import { gzipSync } from "node:zlib";
import { Header } from "tar";

export interface Entry {
  readonly path: string;
  readonly content?: string | Uint8Array;
  readonly mode?: number;
  readonly type?: "File" | "Directory" | "SymbolicLink" | "Link" | "CharacterDevice" | "BlockDevice" | "FIFO";
  readonly linkpath?: string;
  /** The size in the header, if it differs from the content's length. */
  readonly claimedSize?: number;
}

const BLOCK = 512;

const entryBlocks = (entry: Entry): Buffer[] => {
  const content = Buffer.from(entry.content ?? "");
  const header = Buffer.alloc(BLOCK);
  new Header({
    path: entry.path,
    mode: entry.mode ?? (entry.type === "Directory" ? 0o755 : 0o644),
    size: entry.claimedSize ?? content.length,
    type: entry.type ?? "File",
    mtime: new Date(0),
    ...(entry.linkpath === undefined ? {} : { linkpath: entry.linkpath }),
  }).encode(header, 0);
  const padding = Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK);
  return [header, content, padding];
};

/** An uncompressed tar. A path over 100 bytes needs a header of `odd-archives.ts` before its entry. */
export const tarOf = (entries: readonly Entry[]): Buffer =>
  Buffer.concat([...entries.flatMap(entryBlocks), Buffer.alloc(2 * BLOCK)]);

export const tarGz = (entries: readonly Entry[]): Buffer => gzipSync(tarOf(entries));

/** A source of plain files by their paths. */
export const sourceOf = (files: Readonly<Record<string, string>>): Buffer =>
  tarGz(Object.entries(files).map(([path, content]) => ({ path, content })));

/** A Node source with this text as its server; the environment has `PORT`. */
export const nodeSource = (server: string, more: Readonly<Record<string, string>> = {}): Buffer =>
  sourceOf({
    "package.json": JSON.stringify({
      name: "test",
      private: true,
      type: "module",
      scripts: { start: "node server.js" },
    }),
    "server.js": server,
    ...more,
  });

/** A server that answers every request with this text. */
export const helloServer = (text = "hello"): string => `
import { createServer } from "node:http";
const server = createServer((request, response) => response.end(${JSON.stringify(text)}));
server.listen(process.env.PORT);
process.on("SIGTERM", () => server.close(() => process.exit(0)));
`;

/** A service that responds with the text and with some of its variables. */
export const envSource = (text: string): Buffer =>
  nodeSource(`
import { createServer } from "node:http";
const names = ["A", "B", "TOKEN", "OLD"].filter((name) => name in process.env);
const env = Object.fromEntries(names.map((name) => [name, process.env[name]]));
const server = createServer((_, response) => response.end(JSON.stringify({ source: ${JSON.stringify(text)}, env })));
server.listen(process.env.PORT);
process.on("SIGTERM", () => server.close(() => process.exit(0)));
`);

export async function* bytesOf(buffer: Uint8Array, chunk = 64 * 1024): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < buffer.length; at += chunk) yield buffer.subarray(at, at + chunk);
}
