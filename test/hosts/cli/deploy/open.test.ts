/** `portside open` against the real HTTP API over the memory provider, with a program in place of the browser. */
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { wrapPort } from "../../../../adapters/decorators/decorate-port.ts";
import { createMemoryProvider } from "../../../../adapters/memory/index.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { portside } from "../../../support/cli/terminal.ts";
import { serveApi, serveMemory } from "../../../support/http/api.ts";
import { serveHeld } from "../../../support/http/held-api.ts";
import { deployForm, openRecords } from "../../../support/http/record-stream.ts";

const URL_LINE = "https://my-app.memory.invalid\n";

const browser = () => {
  const folder = folderWith({ "xdg-open": '#!/bin/sh\nprintf %s "$1" > "$(dirname "$0")/opened"\n' });
  chmodSync(join(folder.path, "xdg-open"), 0o755);
  const opened = () => {
    const file = join(folder.path, "opened");
    return existsSync(file) ? readFileSync(file, "utf8") : undefined;
  };
  return { path: `${folder.path}:/usr/bin:/bin`, opened, [Symbol.dispose]: () => folder[Symbol.dispose]() };
};

test("prints the URL, and opens the browser only on a terminal", async () => {
  await using api = await serveMemory();
  await api.deploy({ function_name: "my-app", volumes: "{}" }, nodeSource(helloServer()));
  using fake = browser();
  const env = { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key(), PATH: fake.path };
  expect(await portside(["open", "my-app"], { env })).toMatchObject({ code: 0, stdout: URL_LINE, stderr: "" });
  expect(JSON.parse((await portside(["open", "my-app", "--json"], { env })).stdout)).toEqual({ url: URL_LINE.trim() });
  expect(fake.opened()).toBeUndefined();
  expect(await portside(["open", "my_app"], { env, columns: 80 })).toMatchObject({ code: 0, stdout: URL_LINE });
  await expect.poll(fake.opened).toBe(URL_LINE.trim());
});

test("does not measure the deployment for its URL", async () => {
  const { ports } = createMemoryProvider();
  const called: string[] = [];
  const services = wrapPort(ports.provider.services, (name, method, args) => {
    called.push(name);
    return method(...args);
  });
  await using api = await serveApi({ ...ports, provider: { ...ports.provider, services } });
  await api.deploy({ function_name: "my-app", volumes: "{}" }, nodeSource(helloServer()));
  const env = { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key(), PATH: "/nonexistent" };
  called.length = 0;
  expect(await portside(["open", "my_app"], { env })).toMatchObject({ code: 0, stdout: URL_LINE });
  expect(called).toEqual(["list"]);
  expect(await portside(["open", "nothing"], { env })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("The deployment 'nothing' does not exist."),
  });
});

test("prints the URL without a browser, and exits with 1 if there is no URL", async () => {
  await using platform = await serveHeld();
  const { api, key, held } = platform;
  const env = { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: key, PATH: "/nonexistent" };
  const form = deployForm({ function_name: "my-app", volumes: "{}" }, nodeSource(helloServer()));
  const stream = await openRecords(api, "/v1/deploy", { key, form });
  await held.waiting;
  expect(await portside(["open", "my-app"], { env })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("no URL during its first build"),
  });
  held.release();
  await stream.rest();
  expect(await portside(["open", "my-app"], { env, columns: 80 })).toMatchObject({
    code: 0,
    stdout: URL_LINE,
    stderr: expect.stringContaining("Open the URL yourself."),
  });
  expect(await portside(["open", "nothing"], { env })).toMatchObject({ code: 1 });
});
