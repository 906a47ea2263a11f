/** A deploy by example on the memory provider: its records, its effects, and the requests that it rejects. */
import { describe, expect, test } from "vitest";
import { offered } from "../../../../core/domain/wire/capabilities.ts";
import { minimalCapabilities } from "../../../support/providers/capabilities.ts";
import {
  deployed,
  ended,
  listed,
  type MemoryPlatform,
  recordTexts,
  startMemory,
} from "../../../support/providers/memory-platform.ts";

const logOf = async ({ controlPlane, principal }: MemoryPlatform) =>
  (await controlPlane.readLogs(principal(), { deployment_name: "app" }))
    ._unsafeUnwrap()
    .logs.map(({ message }) => JSON.parse(message));

describe("a first deploy", () => {
  test("reports its steps and ends with the URL", async () => {
    const platform = startMemory();
    const records = await ended(platform, { function_name: "my_app" });
    expect(recordTexts(records)).toEqual([
      "BUILDING Deploying as 'my-app'",
      "BUILDING Reading the source",
      "DEPLOYING Creating 'my-app'",
      "DEPLOYING Starting revision my-app-00001",
      "DONE Revision my-app-00001 serves all traffic",
    ]);
    expect(records.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
    expect(new Set(records.map(({ deploy_id }) => deploy_id)).size).toBe(1);
    expect(records.at(-1)?.url).toBe("https://my-app.memory.invalid");
  });

  test("is in the list and in the log when the client reads DONE", async () => {
    const platform = startMemory();
    const records = await deployed(platform);
    const deployId = records[0]?.deploy_id;
    expect(await listed(platform)).toMatchObject([
      {
        name: "app",
        status: "READY",
        revision: "app-00001",
        last_deploy: { deploy_id: deployId, status: "DONE", reason: null },
      },
    ]);
    expect(await logOf(platform)).toMatchObject([
      { event: "deploy", deploy_id: deployId, status: "BUILDING" },
      { event: "deploy", deploy_id: deployId, status: "DONE" },
    ]);
  });
});

test("a later deploy updates: fields are replaced, env is kept, the URL stays", async () => {
  const platform = startMemory();
  await deployed(platform, { port: 3000, env: { A: "1" } });
  const records = await deployed(platform, { memory: "2Gi" });
  expect(recordTexts(records)).toContain("DEPLOYING Updating 'app'");
  expect(await listed(platform)).toMatchObject([
    { port: 8080, memory: "2Gi", env: ["A"], revision: "app-00002", url: "https://app.memory.invalid" },
  ]);
});

test("announces adjustments and unenforced features before the rollout", async () => {
  const { memory_limit, concurrency_cap } = minimalCapabilities;
  const platform = startMemory({ capabilities: { memory_limit, concurrency_cap } });
  expect(recordTexts(await deployed(platform, { cpu: 3, memory: "1Gi" })).slice(2, -1)).toEqual([
    "DEPLOYING Creating 'app'",
    "DEPLOYING CPU raised from 3 to 4: this provider does not offer 3 CPUs",
    "DEPLOYING Memory raised from 1Gi to 2Gi: the minimum with 4 CPUs is 2Gi",
    "DEPLOYING memory is not enforced: no memory limit here",
    "DEPLOYING concurrency is not enforced: no cap here",
    "DEPLOYING Starting revision app-00001",
  ]);
});

test("announces when the schedule is set and when it is removed", async () => {
  const platform = startMemory({
    capabilities: { cron: { schedules: offered(), fire: offered(), max_seconds: 1800 } },
  });
  const set = await deployed(platform, { schedule: "0 9 * * *", timezone: "Europe/Paris" });
  expect(recordTexts(set).at(-2)).toBe("DEPLOYING Scheduled: 0 9 * * * (Europe/Paris)");
  const removed = await deployed(platform);
  expect(recordTexts(removed).at(-2)).toBe("DEPLOYING Schedule removed");
});

describe("rejects before the stream begins", () => {
  test("an invalid request", async () => {
    const refused = await startMemory().submit({ port: 0, volumes: "" });
    expect(refused._unsafeUnwrapErr()).toMatchObject({
      kind: "invalid_input",
      issues: [
        { path: ["port"], type: "greater_than_equal" },
        { path: ["volumes"], type: "missing" },
      ],
    });
  });

  test("a request without a source", async () => {
    const { controlPlane, principal } = startMemory();
    const refused = await controlPlane.deploy(principal(), { fields: { function_name: "app", volumes: {} } });
    expect(refused._unsafeUnwrapErr()).toMatchObject({ issues: [{ path: ["source_archive"], type: "missing" }] });
  });

  test("issues of the form, together with all others", async () => {
    const { controlPlane, principal } = startMemory();
    const refused = await controlPlane.deploy(principal(), {
      fields: { function_name: "app", volumes: {}, port: 0 },
      archive: {
        kind: "rejected",
        issues: [{ path: ["source_archive"], message: "is empty", type: "archive_invalid" }],
      },
      issues: [{ path: ["cpu"], message: "is given twice", type: "value_error" }],
    });
    expect(refused._unsafeUnwrapErr()).toMatchObject({
      issues: [{ path: ["cpu"] }, { path: ["port"] }, { path: ["source_archive"] }],
    });
  });

  test.each([
    ["volumes", { volumes: { "/data": "vol" } }],
    ["schedule", { schedule: "0 9 * * *" }],
  ])("%s, which this provider does not support", async (field, fields) => {
    const { volumes, cron } = minimalCapabilities;
    const refused = await startMemory({ capabilities: { volumes, cron } }).submit(fields);
    expect(refused._unsafeUnwrapErr()).toMatchObject({ issues: [{ path: [field], type: "unsupported" }] });
  });
});

test("the last record names the runner if a platform has several", async () => {
  const platform = startMemory({
    around: ({ services }) => ({
      services: {
        ...services,
        rollout: async function* (...args) {
          for await (const event of services.rollout(...args))
            yield event.kind === "ready" ? { ...event, runner: "in a container" } : event;
        },
      },
    }),
  });
  expect(recordTexts(await deployed(platform)).at(-1)).toBe(
    "DONE Revision app-00001 serves all traffic (in a container)",
  );
});
