/** Sources with lock files of pnpm and Yarn, which the package managers install from the real registry. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sourceOf } from "../../../support/archives/archives.ts";
import { runners, startLocal } from "../../../support/providers/local-platform.ts";
import { needs } from "../../../support/vitest/machine.ts";

const lockFile = (name: string) =>
  readFileSync(join(import.meta.dirname, "..", "..", "..", "fixtures", "lock-files", name), "utf8");

const server = `
const isOdd = require("is-odd");
const built = require("node:fs").readFileSync("built", "utf8");
require("node:http").createServer((_, response) => response.end(built + isOdd(3))).listen(process.env.PORT);
`;

const sourceWith = (lock: string, text: string, program: string) => {
  // The script calls the package manager, which may be missing on the machine.
  const scripts = { start: "node server.js", build: `${program} --version > version && echo built > built` };
  const manifest = { name: "shop", version: "1.0.0", private: true, scripts, dependencies: { "is-odd": "3.0.1" } };
  return sourceOf({ "package.json": JSON.stringify(manifest), "server.js": server, [lock]: text });
};

test.for([
  ["pnpm-lock.yaml", "pnpm-lock.yaml", "pnpm", "pnpm@10"],
  ["yarn.lock", "yarn-1.lock", "yarn", "yarn@1"],
  ["yarn.lock", "yarn-4.lock", "yarn", "@yarnpkg/cli-dist@4"],
] as const)("%s (%s)", async ([lock, file, program, manager], context) => {
  needs(context, "registry");
  await using platform = await startLocal({ runner: runners[0] as (typeof runners)[number] });
  const records = await platform.deploy(sourceWith(lock, lockFile(file), program));
  const messages = records.map(({ message }) => message).join("\n");
  expect(records.at(-1), messages).toMatchObject({ status: "DONE" });
  expect(messages).toContain(`Installing dependencies from ${lock} with ${manager}`);
  expect(await (await fetch(records.at(-1)?.url as string)).text()).toBe("built\ntrue");
});

test("fails if the lock file does not match package.json", async (context) => {
  needs(context, "registry");
  await using platform = await startLocal({ runner: "process" });
  const stale = lockFile("pnpm-lock.yaml").replaceAll("3.0.1", "3.0.0");
  const last = (await platform.deploy(sourceWith("pnpm-lock.yaml", stale, "pnpm"))).at(-1);
  expect(last).toMatchObject({ status: "ERROR", reason: "build_failed" });
  expect(last?.message).toContain("pnpm install");
});
