/** `portside console` against the real HTTP API over the memory provider, with a program in place of the browser. */
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folderWith } from "../../../support/archives/folders.ts";
import { portside } from "../../../support/cli/terminal.ts";
import { serveMemory } from "../../../support/http/api.ts";

const browser = () => {
  const folder = folderWith({ "xdg-open": '#!/bin/sh\nprintf %s "$1" > "$(dirname "$0")/opened"\n' });
  chmodSync(join(folder.path, "xdg-open"), 0o755);
  const opened = () => {
    const file = join(folder.path, "opened");
    return existsSync(file) ? readFileSync(file, "utf8") : "";
  };
  return { path: `${folder.path}:/usr/bin:/bin`, opened, [Symbol.dispose]: () => folder[Symbol.dispose]() };
};

test("opens the browser with a link that signs in, and does not print the link", async () => {
  await using api = await serveMemory();
  using fake = browser();
  const env = { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key(), PATH: fake.path, DISPLAY: ":0" };
  const { code, stdout, stderr } = await portside(["console"], { env, columns: 80 });
  expect([code, stdout]).toEqual([0, ""]);
  expect(stderr).toContain("Opened the console in the browser.");
  await expect.poll(fake.opened).toMatch(new RegExp(`^${api.url}/console/#link=[A-Za-z0-9]{43}$`));
  const link = fake.opened().split("#link=")[1];
  expect((await api.call("POST", "/v1/console/sign-in", { key: null, json: { link } })).status).toBe(200);
});

test.each([
  ["with --no-open", ["console", "--no-open"], { DISPLAY: ":0" }, 80],
  ["without a display", ["console"], {}, 80],
  ["without a browser", ["console"], { DISPLAY: ":0", PATH: "/nonexistent" }, 80],
  ["in a pipe", ["console"], { DISPLAY: ":0" }, undefined],
] as const)("prints the link %s", async (_when, args, more, columns) => {
  await using api = await serveMemory();
  using fake = browser();
  const env = { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key(), PATH: fake.path, ...more };
  const { code, stdout, stderr } = await portside(args, { env, ...(columns === undefined ? {} : { columns }) });
  expect(code).toBe(0);
  expect(stdout).toMatch(new RegExp(`^${api.url}/console/#link=[A-Za-z0-9]{43}\n$`));
  expect(stderr).toContain("It works once.");
  expect(fake.opened()).toBe("");
});

test("prints the link and its expiry with --json", async () => {
  await using api = await serveMemory();
  const env = { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key() };
  const { stdout } = await portside(["console", "--json"], { env });
  expect(JSON.parse(stdout)).toEqual({ url: expect.stringContaining("#link="), expires_at: expect.any(String) });
});
