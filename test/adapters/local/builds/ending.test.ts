/** Builds that end early, and builds that are not needed. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { DeployEvent } from "../../../../core/domain/deploy/events.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { bytesOf, helloServer, sourceOf, tarGz } from "../../../support/archives/archives.ts";
import { principalOf, runners, startLocal, type TestPlatform } from "../../../support/providers/local-platform.ts";
import { markedProcesses } from "../../../support/sandbox/jobs.ts";
import { needs } from "../../../support/vitest/machine.ts";

const buildSource = (build: string, more: Readonly<Record<string, string>> = {}): Uint8Array =>
  sourceOf({
    "package.json": JSON.stringify({ type: "module", scripts: { build, start: "node server.js" } }),
    "server.js": helloServer("hello"),
    ...more,
  });

const HANGS = "echo mark:$PORTSIDE_INSTANCE; (sleep 600 &); trap '' TERM; while :; do sleep 1; done";

const acme = principalOf("acme");

const begin = async (platform: TestPlatform, source: Uint8Array, name = "app") => {
  const archive = (await platform.controlPlane.receiveSource(acme, bytesOf(source)))._unsafeUnwrap();
  const fields = { function_name: name, volumes: {} };
  return (await platform.controlPlane.deploy(acme, { fields, archive }))._unsafeUnwrap();
};

type Run = Awaited<ReturnType<typeof begin>>;

/** Follows a run until a message with this prefix, and returns the rest of the message. */
const waitForOutput = async (run: Run, start: string): Promise<string> => {
  for await (const { message } of run.follow()) if (message.startsWith(start)) return message.slice(start.length);
  throw new Error(`the deploy ended without printing '${start}'`);
};

const lastOf = async (run: Run): Promise<DeployEvent | undefined> => (await Array.fromAsync(run.follow())).at(-1);

/** Cancels a run. Ignores a deploy that has ended meanwhile. */
const cancel = async (platform: TestPlatform, run: Run): Promise<boolean> => {
  const asked = await platform.controlPlane.cancelDeploy(acme, { deploy_id: run.deployId });
  return asked.isOk();
};

/** Calls the builder directly, which skips the control plane's checks. */
const waitingBuild = async (platform: TestPlatform, archive: Uint8Array, signal: AbortSignal) => {
  const { builder, spool } = platform.local.ports.provider;
  const received = (await spool.receive(bytesOf(archive)))._unsafeUnwrap();
  if (received.kind !== "accepted") throw new Error("the source was refused");
  const request = {
    owner: acme.account,
    name: "second" as DeploymentName,
    deployId: "second",
    source: received.source,
  };
  const last = Array.fromAsync(builder.build(request, { signal })).then((events) => events.at(-1));
  await new Promise((resolve) => setTimeout(resolve, 100));
  return { last: last.finally(() => received.source.discard()) };
};

/** The images on the disk, including unfinished ones. */
const images = (platform: TestPlatform): string[] => {
  const root = join(platform.dataDir, "images");
  return existsSync(root) ? readdirSync(root).flatMap((owner) => readdirSync(join(root, owner))) : [];
};

const expectNothingLeft = async (platform: TestPlatform, mark: string): Promise<void> => {
  expect(markedProcesses(`${mark.split(".")[0]}.`)).toEqual([]);
  expect(images(platform)).toEqual([]);
  await expect.poll(() => readdirSync(join(platform.dataDir, "spool"))).toEqual([]);
};

describe.each(runners)("%s", (runner) => {
  test("a failed build reports the exit code and the last lines, and leaves nothing", async (context) => {
    needs(context, "npm");
    await using platform = await startLocal({ runner });
    const source = buildSource("for n in $(seq 30); do echo line $n; done; echo 'no such module' >&2; exit 9");
    const last = (await platform.deploy(source)).at(-1);
    expect(last).toMatchObject({ status: "ERROR", reason: "build_failed", exit_code: 9 });
    expect(last?.message).toBe("The build script ended with exit code 9.");
    const tail = last?.log_tail ?? [];
    expect(tail.length).toBeLessThanOrEqual(20);
    expect(tail.join("\n")).toContain("line 30");
    expect(tail.join("\n")).toContain("no such module");
    expect(images(platform)).toEqual([]);
  });

  test("ends a build at its deadline, and leaves nothing", async (context) => {
    needs(context, "npm");
    await using platform = await startLocal({ runner }, { deployLimits: { buildDeadlineMs: 3000 } });
    const run = await begin(platform, buildSource(HANGS));
    const mark = await waitForOutput(run, "mark:");
    const last = await lastOf(run);
    expect(last).toMatchObject({ status: "ERROR", reason: "build_timeout", log_tail: expect.anything() });
    expect(last?.message).toContain("longer than 3 s");
    await expectNothingLeft(platform, mark);
  });

  test("leaves nothing of a cancelled build, even if it waits for another one of the same source", async (context) => {
    needs(context, "npm");
    await using platform = await startLocal({ runner });
    const source = buildSource(HANGS);
    const first = await begin(platform, source, "first");
    const mark = await waitForOutput(first, "mark:");
    const leaving = new AbortController();
    const second = await waitingBuild(platform, source, leaving.signal);
    leaving.abort();
    // The first build continues, so this must not wait for its end.
    expect(await second.last).toMatchObject({ kind: "failed", failure: { reason: "interrupted" } });
    expect(markedProcesses(mark).length).toBeGreaterThan(0);
    expect(await cancel(platform, first)).toBe(true);
    expect(await lastOf(first)).toMatchObject({ status: "ERROR", reason: "interrupted" });
    await expectNothingLeft(platform, mark);
  });

  test("leaves nothing of a build that is cancelled while it unpacks", async () => {
    await using platform = await startLocal({ runner });
    const many = Array.from({ length: 4000 }, (_, n) => ({ path: `d${n % 50}/f${n}`, content: `file ${n}` }));
    const source = tarGz([
      { path: "server.js", content: helloServer() },
      { path: "package.json", content: "{}" },
      ...many,
    ]);
    for (const wait of [0, 20, 60, 120]) {
      const run = await begin(platform, source);
      await expect.poll(() => images(platform).length, { interval: 1 }).toBe(1);
      await new Promise((resolve) => setTimeout(resolve, wait));
      await cancel(platform, run);
      const last = await lastOf(run);
      if (last?.status === "ERROR") expect(last.reason).toBe("interrupted");
      // Pending writes must not appear on the disk later.
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(images(platform).length, `cancelled after ${wait} ms: ${last?.status}`).toBe(
        last?.status === "DONE" ? 1 : 0,
      );
    }
  });

  test("builds a source of an account once, even for two concurrent deploys", async (context) => {
    needs(context, "npm");
    await using platform = await startLocal({ runner });
    const source = buildSource("echo really building");
    const runs = await Promise.all(["a", "b"].map((name) => begin(platform, source, name)));
    const both = await Promise.all(runs.map((run) => Array.fromAsync(run.follow())));
    expect(both.map((records) => records.at(-1)?.status)).toEqual(["DONE", "DONE"]);
    const contains = (records: readonly DeployEvent[], part: string) =>
      records.some(({ message }) => message.includes(part));
    expect(both.filter((records) => contains(records, "really building")).length).toBe(1);
    expect(both.filter((records) => contains(records, "was built before")).length).toBe(1);
    expect(contains(await platform.deploy(source), "was built before")).toBe(true);
    expect(images(platform).length).toBe(1);
    expect(contains(await platform.deploy(source, { function_name: "theirs" }, "others"), "really building")).toBe(
      true,
    );
  });
});
