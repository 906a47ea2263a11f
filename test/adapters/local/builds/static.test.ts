/** A folder with an index.html is served unchanged. */
import { request } from "node:http";
import { expect, test } from "vitest";
import { sourceOf } from "../../../support/archives/archives.ts";
import { runners, startLocal } from "../../../support/providers/local-platform.ts";

const site = {
  "index.html": "<h1>home</h1>",
  "style.css": "h1 { color: red }",
  "docs/index.html": "docs",
  "it's here/a b.txt": "spaces",
  "404.html": "nothing here",
  "portside.json": '{"name": "site", "env": {"SECRET": "x"}}',
  ".env": "SECRET=x",
  "a/.git/config": "secret",
  ".well-known/security.txt": "contact",
};

/** A raw request, because `fetch` would resolve the dots. */
const status = (url: string, path: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const { port, host } = new URL(url);
    request({ host: "127.0.0.1", port, path, headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on("error", reject)
      .end();
  });

test.for(runners)("serves pages, types and folders, and refuses private files (%s)", async (runner) => {
  await using platform = await startLocal({ runner });
  const records = await platform.deploy(sourceOf(site));
  const url = records.at(-1)?.url as string;
  expect(records.map(({ message }) => message)).toContain("Building a static site");
  const home = await fetch(url);
  expect([home.status, home.headers.get("content-type"), await home.text()]).toEqual([
    200,
    "text/html; charset=utf-8",
    "<h1>home</h1>",
  ]);
  const style = await fetch(`${url}/style.css?v=1`);
  expect(style.headers.get("content-type")).toBe("text/css; charset=utf-8");
  const etag = style.headers.get("etag") as string;
  expect((await fetch(`${url}/style.css`, { headers: { "if-none-match": etag } })).status).toBe(304);
  const head = await fetch(url, { method: "HEAD" });
  expect([head.headers.get("content-length"), await head.text()]).toEqual(["13", ""]);
  const folder = await fetch(`${url}/docs`, { redirect: "manual" });
  expect([folder.status, folder.headers.get("location")]).toEqual([308, "/docs/"]);
  expect(await (await fetch(`${url}/docs/`)).text()).toBe("docs");
  expect(await (await fetch(`${url}/it's%20here/a%20b.txt`)).text()).toBe("spaces");
  expect(await (await fetch(`${url}/.well-known/security.txt`)).text()).toBe("contact");
  const lost = await fetch(`${url}/nowhere`);
  expect([lost.status, await lost.text()]).toEqual([404, "nothing here"]);
  for (const path of [
    "/portside.json",
    "//portside.json",
    "/./portside.json",
    "/%70ortside.json",
    "/.env",
    "/a/.git/config",
    "/index.html/",
    "/%",
    "/%00",
  ])
    expect(await status(url, path), path).toBe(404);
  for (const path of [
    "/../../etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/..%2f..%2fetc%2fpasswd",
    "/docs/..%2fportside.json",
  ])
    expect(await status(url, path), path).toBe(404);
  expect((await fetch(url, { method: "POST", body: "x" })).status).toBe(405);
});
