/** The built files of the console: their size, their caching and their compression. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import Fastify, { type FastifyInstance } from "fastify";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createMemoryProvider } from "../../adapters/memory/index.ts";
import { createControlPlane } from "../../core/control-plane.ts";
import { portside } from "../../hosts/http/index.ts";

const FOLDER = "dist/console";
const MAX_BYTES = 60_000;

let app: FastifyInstance;
beforeAll(async () => {
  app = Fastify();
  // biome-ignore lint/nursery/noMisusedPromises: a plugin may be asynchronous; the type has an overload for it
  await app.register(portside, { controlPlane: createControlPlane(createMemoryProvider().ports), prefix: "/p" });
});
afterAll(() => app?.close());

const index = readFileSync(join(FOLDER, "index.html"), "utf8");
/** The files that the index loads. */
const loaded = [...index.matchAll(/(?:src|href)="\.\/([^"]+)"/g)].map(([, path]) => path as string);

/** The files of the first view, including the static imports of scripts. */
const initialFiles = (): ReadonlySet<string> => {
  const files = new Set(["index.html", ...loaded]);
  for (const file of files)
    if (file.endsWith(".js"))
      for (const [, path] of readFileSync(join(FOLDER, file), "utf8").matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g))
        files.add(`assets/${path}`);
  return files;
};

test("the first view loads at most 60 kB", () => {
  const files = [...initialFiles()];
  expect(files.length).toBeGreaterThanOrEqual(4);
  const bytes = files.map((file) => readFileSync(join(FOLDER, `${file}.br`)).length);
  expect(bytes.reduce((sum, length) => sum + length, 0)).toBeLessThan(MAX_BYTES);
});

test("names other hosts in no file, except in links of licences", () => {
  for (const file of globSync("**/*.{js,css,html}", { cwd: FOLDER })) {
    const urls = readFileSync(join(FOLDER, file), "utf8").match(/https?:\/\/[\w.-]+/g) ?? [];
    expect(
      urls.filter((url) => !["http://www.w3.org", "https://github.com"].includes(url)),
      file,
    ).toEqual([]);
  }
});

test("the index has no inline script or style, and only relative URLs", () => {
  expect(index).not.toMatch(/<style|style=|<script(?![^>]* src=)|\son\w+=/);
  for (const [, url] of index.matchAll(/(?:src|href)="([^"]+)"/g)) expect(url).toMatch(/^\.\//);
});

test("browsers cache files with a hash for a year, and check the index on each visit", async () => {
  const page = await app.inject("/p/console/");
  expect(page.headers["cache-control"]).toBe("no-cache");
  expect(page.headers["content-type"]).toBe("text/html; charset=utf-8");
  expect(page.body).toBe(index);
  const script = loaded.find((file) => file.endsWith(".js")) as string;
  expect(script).toMatch(/^assets\/[\w-]+-[\w-]{8}\.js$/);
  const { headers } = await app.inject(`/p/console/${script}`);
  expect(headers["cache-control"]).toBe("public, max-age=31536000, immutable");
  expect(headers["content-type"]).toBe("text/javascript; charset=utf-8");
});

test("sends Brotli to clients that accept it", async () => {
  const script = loaded.find((file) => file.endsWith(".js")) as string;
  const { headers, rawPayload } = await app.inject({
    url: `/p/console/${script}`,
    headers: { "accept-encoding": "gzip, br" },
  });
  expect(headers["content-encoding"]).toBe("br");
  expect(headers["vary"]).toBe("accept-encoding");
  expect(brotliDecompressSync(rawPayload).toString()).toBe(readFileSync(join(FOLDER, script), "utf8"));
  expect((await app.inject(`/p/console/${script}`)).headers["content-encoding"]).toBeUndefined();
});
