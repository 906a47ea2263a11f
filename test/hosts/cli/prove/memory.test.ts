/** `portside prove` on the memory provider, which runs no services. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folderWith } from "../../../support/archives/folders.ts";
import { namesIn, type ProveReport, prove, signedIn } from "../../../support/cli/prove.ts";
import { portside } from "../../../support/cli/terminal.ts";
import { serveMemory } from "../../../support/http/api.ts";

test.concurrent("passes the supported steps, skips the others with the provider's reason, and leaves nothing", async () => {
  await using api = await serveMemory();
  using folder = folderWith();
  const options = { env: await signedIn(api), cwd: folder.path };
  const { code, stdout, stderr } = await portside(["prove", "-y", "--json", "report.json"], options);
  const report = JSON.parse(readFileSync(join(folder.path, "report.json"), "utf8")) as ProveReport;
  expect(code).toBe(0);
  expect(stderr).toContain("with about 1 MiB");
  expect(stderr).toContain("The run costs nothing.");
  expect(stdout).toContain("volume\tpass\t");
  expect(stdout).toContain(`Kept: the volume '${report.run}-data' in the trash, until `);
  expect(report).toMatchObject({ passed: true, provider: "memory", url: api.url });
  expect(Object.fromEntries(report.steps.map(({ step, result }) => [step, result]))).toEqual({
    deploy: "pass",
    "first response": "skipped",
    "redeploy under load": "skipped",
    "env change": "pass",
    logs: "skipped",
    volume: "pass",
    mount: "skipped",
    "empty volume": "pass",
    schedule: "skipped",
    sql: "pass",
    "failing deploy": "skipped",
    delete: "pass",
  });
  for (const { result, reason } of report.steps)
    expect(reason).toBe(result === "skipped" ? "the memory provider simulates services; nothing runs" : undefined);
  expect(report.retained).toHaveLength(3);
  expect(await namesIn(api)).toEqual([]);
  await api.memory.close();
});

test.concurrent("without -y and without a terminal, lists what to confirm, and creates nothing", async () => {
  await using api = await serveMemory();
  const { code, stderr } = await portside(["prove"], { env: await signedIn(api) });
  expect(code).toBe(2);
  expect(stderr).toMatch(/the deployment 'portside-prove-[a-z2-7]{8}' \(1 CPU, 512Mi, at most 2 instances\)/);
  expect(stderr).toContain("Begin? Confirm with -y.");
  expect(await namesIn(api)).toEqual([]);
});

test.concurrent("Ctrl-C ends the steps, deletes what they created, and exits with 130", async () => {
  await using api = await serveMemory();
  const stop = new AbortController();
  const proving = prove(await signedIn(api), { signal: stop.signal });
  await expect.poll(() => namesIn(api)).not.toEqual([]);
  stop.abort();
  const { code, report } = await proving;
  expect(code).toBe(130);
  expect(report.steps.map(({ reason }) => reason)).toContain("Interrupted.");
  expect(report.steps.at(-1)).toMatchObject({ step: "delete", result: "pass" });
  expect(await namesIn(api)).toEqual([]);
  await api.memory.close();
});

test.concurrent("--clean deletes the remains of one run or of all, and nothing else", async () => {
  await using api = await serveMemory();
  const env = await signedIn(api);
  const create = (name: string) => api.call("POST", "/v1/volume/create", { json: { name } });
  const [first, second] = ["portside-prove-aaaaaaaa", "portside-prove-bbbbbbbb"];
  const others = ["portside-prove-mine", "portside-prove-aaaaaaaa-x", "prove-aaaaaaaa"];
  for (const name of [`${first}-data`, `${second}-data`, ...others]) await create(name);
  const one = await portside(["prove", "--clean", first, "-y"], { env });
  expect(one.stdout).toContain(`Deleted ${first}-data.\nKept: the volume '${first}-data' in the trash`);
  expect((await namesIn(api)).sort()).toEqual([...others, `${second}-data`].sort());
  expect(await portside(["prove", "--clean"], { env })).toMatchObject({ code: 2 });
  expect(await portside(["prove", "--clean", "-y"], { env })).toMatchObject({ code: 0 });
  expect((await namesIn(api)).sort()).toEqual(others.toSorted());
  expect(await portside(["prove", "--clean", "mine", "-y"], { env })).toMatchObject({ code: 2 });
});
