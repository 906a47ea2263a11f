/** The examples that log JSON: what they print can be filtered by its fields. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sourceOf } from "../../support/archives.ts";
import { principalOf, startLocal, type TestPlatform } from "../../support/local-platform.ts";
import { needs } from "../../support/machine.ts";

/** For what was printed to be read, on a busy machine. */
const PATIENCE = { timeout: 20_000 };

const exampleOf = (name: string): Uint8Array => {
  const folder = join(import.meta.dirname, "..", "..", "..", "examples", name);
  const files = readdirSync(folder).map((file) => [file, readFileSync(join(folder, file), "utf8")] as const);
  return sourceOf(Object.fromEntries(files));
};

const messages = async ({ controlPlane }: TestPlatform, query: string): Promise<string[]> => {
  const page = await controlPlane.readLogs(principalOf("acme"), { deployment_name: "app", query });
  return page._unsafeUnwrap().logs.map(({ message }) => {
    const { msg, message: said } = JSON.parse(message);
    return msg ?? said;
  });
};

test("Node, through pino", async (context) => {
  needs(context, "registry");
  await using platform = await startLocal({ runner: "process" });
  const url = await platform.up(exampleOf("logs-node"));
  await (await fetch(`${url}/cart?user=ann`)).text();
  await (await fetch(`${url}/cart`)).text();
  await expect.poll(() => messages(platform, 'jsonPayload.user="Ann"'), PATIENCE).toEqual(["a request came"]);
  await expect
    .poll(() => messages(platform, 'severity=WARNING jsonPayload.path="/cart"'), PATIENCE)
    .toEqual(["who was it?"]);
});

test("Python, through logging", async (context) => {
  needs(context, "python");
  await using platform = await startLocal({ runner: "process" });
  const url = await platform.up(exampleOf("logs-python"));
  await (await fetch(`${url}/slow`)).text();
  await expect.poll(() => messages(platform, "jsonPayload.seconds>1"), PATIENCE).toEqual(["this one was slow"]);
  await expect
    .poll(() => messages(platform, 'jsonPayload.logger="shop" severity=INFO'), PATIENCE)
    .toEqual(["a request came"]);
});
