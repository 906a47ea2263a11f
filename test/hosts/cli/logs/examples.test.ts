/** Every filter on the page about logs finds the entries that the page promises, in logs of the examples. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sourceOf } from "../../../support/archives/archives.ts";
import { principalOf, startLocal, type TestPlatform } from "../../../support/providers/local-platform.ts";
import { needs } from "../../../support/vitest/machine.ts";

/** How long a printed line may take to appear in the log, on a busy machine. */
const POLL = { timeout: 60_000 };

const repository = join(import.meta.dirname, "..", "..", "..", "..");

const exampleOf = (name: string): Uint8Array => {
  const folder = join(repository, "examples", name);
  const files = readdirSync(folder).map((file) => [file, readFileSync(join(folder, file), "utf8")] as const);
  return sourceOf(Object.fromEntries(files));
};

/** Fails in ways that the examples do not: exits, exceeds its memory limit, and responds with 500. */
const failing = sourceOf({
  "package.json": "{}",
  "server.js": `require("node:http").createServer((request, response) => {
    if (request.url === "/crash") process.exit(3);
    if (request.url === "/grow") for (const kept = []; ; ) kept.push(Buffer.alloc(1 << 24, 1));
    response.writeHead(request.url === "/broken" ? 500 : 200).end();
  }).listen(process.env.PORT);`,
});

/** The filters that the page shows for a deployment. */
const shownFor = (name: string): string[] => {
  const page = readFileSync(join(repository, "docs", "logs.md"), "utf8");
  const filters = [...page.matchAll(/portside logs (\S+) [^\n]*?-q '([^'\n]*)'/g)];
  expect(filters.length).toBe(page.split(" -q '").length - 1);
  return filters.flatMap(([, deployment, filter]) => (deployment === name ? [filter as string] : []));
};

const matches = async ({ controlPlane }: TestPlatform, name: string, query: string): Promise<number> => {
  const page = await controlPlane.readLogs(principalOf("acme"), { deployment_name: name, query });
  return page._unsafeUnwrap().logs.length;
};

const expectAll = async (platform: TestPlatform, name: string): Promise<void> => {
  const filters = shownFor(name);
  expect(filters.length).toBeGreaterThan(1);
  for (const filter of filters)
    await expect.poll(() => matches(platform, name, filter), { ...POLL, message: filter }).toBeGreaterThan(0);
};

const call = async (url: string): Promise<void> => {
  await fetch(url).then(
    (response) => response.text(),
    () => "cut off",
  );
};

test("Node, through pino", async (context) => {
  needs(context, "registry");
  await using platform = await startLocal({ runner: "process" });
  const url = await platform.up(exampleOf("logs-node"), { function_name: "logs-node" });
  for (const path of ["/cart?user=ann", "/cart", "/pay?user=ann"]) await call(url + path);
  await expectAll(platform, "logs-node");
  expect(await matches(platform, "logs-node", 'jsonPayload.err.stack:"at pay" severity=ERROR')).toBe(1);
});

test("Python, through logging", async (context) => {
  needs(context, "python");
  await using platform = await startLocal({ runner: "process" });
  const url = await platform.up(exampleOf("logs-python"), { function_name: "logs-python" });
  for (const path of ["/slow", "/stock"]) await call(url + path);
  await expectAll(platform, "logs-python");
  expect(await matches(platform, "logs-python", 'jsonPayload.exception=~"(?s)^Traceback.*KeyError"')).toBe(1);
});

test("events of the platform", async () => {
  await using platform = await startLocal({ runner: "process" });
  const url = await platform.up(failing, { function_name: "shop", memory: "128Mi" });
  for (const path of ["/crash", "/", "/grow", "/broken"]) await call(url + path);
  await expectAll(platform, "shop");
});
