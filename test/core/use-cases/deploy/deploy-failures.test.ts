/** Deploys that fail in a step: how the stream ends, what remains, and what happens if a step never ends. */
import { describe, expect, test } from "vitest";
import { faulty } from "../../../../adapters/memory/index.ts";
import type { ImageBuilder } from "../../../../core/ports/image-builder.ts";
import {
  accepted,
  deployed,
  ended,
  listed,
  type MemoryPlatform,
  recordsOf,
  recordTexts,
  startMemory,
} from "../../../support/providers/memory-platform.ts";

const logOf = async ({ controlPlane, principal }: MemoryPlatform) =>
  (await controlPlane.readLogs(principal(), { deployment_name: "app" }))
    ._unsafeUnwrap()
    .logs.map(({ message }) => JSON.parse(message));

const failing = (builder: ImageBuilder["build"]) => startMemory({ around: () => ({ builder: { build: builder } }) });

describe("a build that fails", () => {
  const broken = () =>
    failing(async function* () {
      yield { kind: "progress", message: "npm error missing script" };
      yield {
        kind: "failed",
        failure: {
          reason: "build_failed",
          message: "npm failed",
          exitCode: 254,
          logTail: ["npm error missing script"],
        },
      };
    });

  test("ends the stream with its reason, exit code and last lines", async () => {
    const records = await ended(broken());
    expect(recordTexts(records)).toEqual([
      "BUILDING Deploying as 'app'",
      "BUILDING npm error missing script",
      "ERROR npm failed",
    ]);
    expect(records.at(-1)).toMatchObject({
      reason: "build_failed",
      exit_code: 254,
      log_tail: ["npm error missing script"],
    });
  });

  test("a first deploy leaves only its log", async () => {
    const platform = broken();
    await ended(platform);
    expect(await listed(platform)).toEqual([]);
    expect((await logOf(platform)).at(-1)).toMatchObject({ status: "ERROR", reason: "build_failed", exit_code: 254 });
  });
});

describe("a rollout that fails", () => {
  const crashed = { reason: "crashed", message: "It crashed", exitCode: 1, logTail: ["boom"] } as const;
  const platformWhere = (count: number) =>
    startMemory({
      around: ({ services }) => ({
        services: faulty(services, (call) =>
          call.method === "rollout" && call.count === count ? { failure: crashed } : undefined,
        ),
      }),
    });

  test("keeps the previous revision serving", async () => {
    const platform = platformWhere(2);
    await deployed(platform, { port: 3000 });
    const records = await ended(platform, { port: 4000 });
    expect(records.at(-1)).toMatchObject({ status: "ERROR", reason: "crashed", exit_code: 1, log_tail: ["boom"] });
    expect(await listed(platform)).toMatchObject([
      { status: "READY", port: 3000, last_deploy: { status: "ERROR", reason: "crashed" } },
    ]);
  });
});

describe("deadlines", () => {
  const hangs = async (signal: AbortSignal | undefined) => {
    await new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve()));
  };
  const gone = { kind: "failed", failure: { reason: "interrupted", message: "ended" } } as const;

  test("a build ends after 15 minutes, with build_timeout and its last lines", async () => {
    const platform = failing(async function* (_request, { signal } = {}) {
      for (let line = 1; line <= 30; line++) yield { kind: "progress", message: `line ${line}` };
      await hangs(signal);
      yield gone;
    });
    const last = (await ended(platform)).at(-1);
    expect(last?.reason).toBe("build_timeout");
    expect(last?.log_tail).toEqual(Array.from({ length: 20 }, (_, index) => `line ${index + 11}`));
    expect(last?.message).toBe(
      "The build took longer than 15 min and was stopped. Make it faster, or ask the operator to raise the deadline.",
    );
    expect(last?.time.slice(0, 16)).toBe("2026-01-01T00:15");
  });

  test.each([
    ["ends after the abort", true, "The previous revision, if any, still serves."],
    ["ignores the abort", false, "Run 'portside status app' to see which revision serves."],
  ])("a rollout that hangs and %s ends with rollout_timeout", async (_, yieldsEnd, serving) => {
    let slow = false;
    const platform = startMemory({
      around: ({ services }) => ({
        services: {
          ...services,
          rollout: async function* (request, options = {}) {
            if (!slow) return yield* services.rollout(request, options);
            await (yieldsEnd ? hangs(options.signal) : new Promise(() => undefined));
            yield gone;
          },
        },
      }),
    });
    await deployed(platform);
    slow = true;
    const last = (await ended(platform)).at(-1);
    const message = `The rollout took longer than 5 min and was stopped. ${serving}`;
    expect(last).toMatchObject({ reason: "rollout_timeout", message });
    expect(await listed(platform)).toMatchObject([{ status: "READY", revision: "app-00001" }]);
  });

  test("abandons a port that ignores the abort; deadlines are settings", async () => {
    const platform = startMemory({
      settings: { deployLimits: { buildDeadlineMs: 3000 } },
      around: () => ({
        builder: {
          build: async function* () {
            yield { kind: "progress", message: "Compiling" };
            await new Promise(() => undefined);
          },
        },
      }),
    });
    const last = (await ended(platform)).at(-1);
    expect(last).toMatchObject({ status: "ERROR", reason: "build_timeout", log_tail: ["Compiling"] });
    expect(last?.message).toBe(
      "The build took longer than 3 s and was stopped. Make it faster, or ask the operator to raise the deadline.",
    );
  });

  test("a rollout that moved traffic before its deadline is DONE", async () => {
    const platform = startMemory({
      around: ({ services }, clock) => ({
        services: {
          ...services,
          rollout: async function* (request) {
            const events = await Array.fromAsync(services.rollout(request));
            await clock.sleep(5 * 60_000 + 3000);
            yield* events;
          },
        },
      }),
    });
    expect((await ended(platform)).at(-1)?.status).toBe("DONE");
  });
});

describe("build output", () => {
  test("shows the first 4 MiB and the last lines, shortens long lines, and reports the omissions", async () => {
    const line = "x".repeat(8 * 1024);
    const platform = failing(async function* () {
      yield { kind: "progress", message: "y".repeat(100_000) };
      for (let lines = 0; lines < 600; lines++) yield { kind: "progress", message: line };
      yield { kind: "failed", failure: { reason: "build_failed", message: "failed", logTail: ["z".repeat(100_000)] } };
    });
    const records = await recordsOf(platform, await accepted(platform));
    expect(records[1]?.message).toBe(`${"y".repeat(8 * 1024)}…`);
    expect(records.filter(({ message }) => message === line)).toHaveLength(510 + 31);
    expect(records[512]?.message).toMatch(/^The build output is too long to show in full\. /);
    expect(records[513]?.message).toBe("... 59 lines (484 kB) of build output omitted ...");
    expect(records.map(({ seq }) => seq)).toEqual(records.map((_, index) => index + 1));
    expect(records.at(-1)).toMatchObject({ status: "ERROR", log_tail: [`${"z".repeat(8 * 1024)}…`] });
  });

  test("limits the number of lines, even if the deadline ends the build", async () => {
    const platform = failing(async function* (_request, { signal } = {}) {
      for (let lines = 0; lines < 100_000; lines++) yield { kind: "progress", message: `${lines}` };
      await new Promise((resolve) => signal?.addEventListener("abort", resolve));
      yield { kind: "failed", failure: { reason: "interrupted", message: "The build was cancelled." } };
    });
    const records = await recordsOf(platform, await accepted(platform));
    const messages = records.map(({ message }) => message);
    expect(messages.slice(1, 20_001)).toEqual(Array.from({ length: 20_000 }, (_, index) => `${index}`));
    expect(messages).toContain("... 79,000 lines (474 kB) of build output omitted ...");
    expect(messages.slice(-1001, -1)).toEqual(Array.from({ length: 1000 }, (_, index) => `${99_000 + index}`));
    expect(records.at(-1)).toMatchObject({ status: "ERROR", reason: "build_timeout" });
    expect(records.at(-1)?.log_tail?.at(-1)).toBe("99999");
  });
});
