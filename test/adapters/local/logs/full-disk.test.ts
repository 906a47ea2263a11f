/** A full disk: only log entries are lost. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createSystemClock } from "../../../../adapters/shared/runtime/system.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { NewLogEntry } from "../../../../core/domain/logs/entry.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { every } from "../../../contracts/log-steps.ts";
import { nodeSource } from "../../../support/archives/archives.ts";
import { WrittenLogs } from "../../../support/logs/written-logs.ts";
import { principalOf, startLocalIn } from "../../../support/providers/local-platform.ts";
import { has, needs } from "../../../support/vitest/machine.ts";

const app = "app" as DeploymentName;
let folder: string;
let mounted: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "portside-full-"));
  mounted = join(folder, "logs");
  mkdirSync(mounted);
  if (has("root")) execFileSync("mount", ["-t", "tmpfs", "-o", "size=2m", "tmpfs", mounted]);
});
afterEach(() => {
  if (has("root")) execFileSync("umount", [mounted]);
  rmSync(folder, { recursive: true, force: true });
});

const ballast = () => join(mounted, "ballast");
const fill = (): void => {
  const { bavail, bsize } = statfsSync(mounted);
  writeFileSync(ballast(), Buffer.alloc(bavail * bsize));
};
const free = (): void => rmSync(ballast());

const line = (owner: string, text: string): NewLogEntry => ({
  owner: owner as AccountId,
  service: app,
  text,
  severity: "INFO",
  logName: "stdout",
});

test("loses entries of old and new accounts and reports it, and recovers afterwards", async (context) => {
  needs(context, "root");
  const complaints: string[] = [];
  const logger = {
    debug: () => {},
    info: () => {},
    warn: () => {},
    error: (words: string) => void complaints.push(words),
  };
  const logs = new WrittenLogs({
    folder: mounted,
    clock: createSystemClock(),
    logger,
    retentionDays: 30,
    maxBytes: 2 ** 30,
  });
  const texts = async (owner: string) =>
    (await logs.newest({ owner: owner as AccountId, service: app }, every())).map(({ entries }) =>
      entries.map(({ text }) => text),
    );
  void logs.push(line("old", "before"));
  expect((await texts("old"))._unsafeUnwrap()).toEqual(["before"]);

  fill();
  const big = "x".repeat(100_000);
  for (let n = 0; n < 30; n++) void logs.push(line("old", `lost ${n} ${big}`));
  logs.flush();
  for (let n = 0; n < 30; n++) expect(logs.push(line("new", `lost ${n}`))).toBeUndefined();
  expect(complaints).toContain("lost log entries: could not write the log");
  expect(complaints.filter((words) => words.includes("could not open")).length).toBe(1);
  expect((await logs.append([line("new", "lost")])).isErr()).toBe(true);
  expect((await texts("old"))._unsafeUnwrap()).toEqual(["before"]);
  expect((await texts("new")).isErr()).toBe(true);

  free();
  // Opening an account's log is retried after a second.
  await expect.poll(async () => (await logs.append([line("new", "after")])).isOk()).toBe(true);
  void logs.push(line("old", "after"));
  expect((await texts("old"))._unsafeUnwrap()).toEqual(["before", "after"]);
  expect((await texts("new"))._unsafeUnwrap()).toEqual(["after"]);
  await logs.close();
});

test("services are deployed and serve while the log cannot be written", async (context) => {
  needs(context, "root");
  await using platform = await startLocalIn(folder, { runner: "process" });
  fill();
  const loud = nodeSource(`
    import { createServer } from "node:http";
    setInterval(() => console.log("x".repeat(50_000)), 5);
    createServer((request, response) => response.end("served")).listen(process.env.PORT);`);
  const url = await platform.up(loud);
  for (let n = 0; n < 20; n++) {
    expect(await (await fetch(url)).text()).toBe("served");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  free();
  const read = () => platform.controlPlane.readLogs(principalOf("acme"), { deployment_name: "app" });
  await expect.poll(async () => (await read()).isOk()).toBe(true);
  const isLogged = async () => (await read())._unsafeUnwrap().logs.some(({ message }) => message.startsWith("xxx"));
  await expect.poll(isLogged).toBe(true);
});
