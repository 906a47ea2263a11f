/** A plan describes the changes of a deploy and changes nothing. */
import { expect, test } from "vitest";
import { offered } from "../../../../core/domain/wire/capabilities.ts";
import { planSchema } from "../../../../core/domain/wire/responses.ts";
import { deployed, startMemory } from "../../../support/providers/memory-platform.ts";

const fields = { function_name: "my_app", volumes: {} };

test("a plan has sentences and data, and needs no source", async () => {
  const { controlPlane, principal } = startMemory({
    capabilities: { cron: { schedules: offered(), fire: offered(), max_seconds: 30 } },
  });
  const answer = await controlPlane.plan(principal(), {
    fields: { ...fields, cpu: 3, memory: "1Gi", schedule: "0 9 * * *", timezone: "Europe/Paris", timeout: 60 },
  });
  const plan = answer._unsafeUnwrap();
  expect(planSchema.parse(plan)).toEqual(plan);
  expect(plan).toEqual({
    action: "create",
    name: "my-app",
    summary: [
      "Create 'my-app'",
      "CPU raised from 3 to 4: this provider does not offer 3 CPUs",
      "Memory raised from 1Gi to 2Gi: the minimum with 4 CPUs is 2Gi",
      "Scheduled: 0 9 * * * (Europe/Paris)",
    ],
    changes: [],
    adjustments: [
      { field: "cpu", from: "3", to: "4", message: "CPU raised from 3 to 4: this provider does not offer 3 CPUs" },
      {
        field: "memory",
        from: "1Gi",
        to: "2Gi",
        message: "Memory raised from 1Gi to 2Gi: the minimum with 4 CPUs is 2Gi",
      },
    ],
    volumes: { create: [], detach: [] },
    schedule: { action: "put", cron: "0 9 * * *", timezone: "Europe/Paris", max_seconds: 30 },
    min_instances_price: null,
    not_enforced: [],
  });
});

test("a plan of an update lists the fields that would change, without secrets", async () => {
  const platform = startMemory();
  await deployed(platform, { port: 3000, env: { TOKEN: "s3cret" } });
  const answer = await platform.controlPlane.plan(platform.principal(), {
    fields: { ...fields, function_name: "app", env: { TOKEN: "0ther" } },
  });
  const plan = answer._unsafeUnwrap();
  expect(plan.action).toBe("update");
  expect(plan.changes).toEqual([
    { field: "port", from: 3000, to: 8080 },
    { field: "env", from: ["TOKEN"], to: ["TOKEN"] },
  ]);
  expect(JSON.stringify(plan)).not.toMatch(/s3cret|0ther/);
});

test("a plan changes nothing", async () => {
  const platform = startMemory();
  await deployed(platform);
  const before = platform.memory.snapshot();
  for (const name of ["app", "new-app"]) {
    const request = { fields: { ...fields, function_name: name, port: 9000 } };
    expect((await platform.controlPlane.plan(platform.principal(), request)).isOk()).toBe(true);
  }
  expect(platform.memory.snapshot()).toEqual(before);
});

test("the minimums of an account's services share its limit of instances", async () => {
  const platform = startMemory({ settings: { accountLimits: { instances: 6 } } });
  await deployed(platform, { min_instances: 3 });
  const plan = (raw: Record<string, unknown>, account?: string) =>
    platform.controlPlane.plan(platform.principal(account), { fields: { ...fields, max_instances: 5, ...raw } });
  const other = await plan({ function_name: "other", min_instances: 3 });
  // A deploy needs the sixth instance.
  expect(other._unsafeUnwrapErr()).toMatchObject({
    kind: "invalid_input",
    issues: [{ path: ["min_instances"], type: "quota_exceeded", message: expect.stringContaining("keep 6 instances") }],
  });
  expect((await plan({ function_name: "other", min_instances: 2 }))._unsafeUnwrap().summary).toContain(
    "Keeps 2 instances running without requests",
  );
  // A service that keeps nothing running, a change of the same service, and another account.
  expect((await plan({ function_name: "other" })).isOk()).toBe(true);
  expect((await plan({ function_name: "app", min_instances: 5 })).isOk()).toBe(true);
  expect((await plan({ function_name: "their-app", min_instances: 5 }, "other")).isOk()).toBe(true);
});

test("states the price of the minimum if the platform has prices", async () => {
  const instancePrices = {
    currency: "EUR",
    cpu: { digits: 18n, scale: 6 },
    memory: { digits: 2n, scale: 6 },
  };
  const plan = async (raw: Record<string, unknown>, around?: () => { instancePrices: typeof instancePrices }) => {
    const platform = startMemory(around === undefined ? {} : { around });
    const answer = await platform.controlPlane.plan(platform.principal(), { fields: { ...fields, ...raw } });
    return answer._unsafeUnwrap();
  };
  const priced = await plan({ min_instances: 3, cpu: 2, memory: "1Gi" }, () => ({ instancePrices }));
  // 3 × (2 × 0.000018 + 1 × 0.000002) × 3600
  expect(priced.min_instances_price).toEqual({ currency: "EUR", per_hour: "0.4104", per_month: "299.59" });
  expect(priced.summary).toContain(
    "The minimum number of instances costs 0.4104 EUR per hour, or 299.59 EUR per month of 730 hours",
  );
  const unpriced = [await plan({ min_instances: 3 }), await plan({}, () => ({ instancePrices }))];
  for (const { min_instances_price: price, summary } of unpriced) {
    expect(price).toBeNull();
    expect(summary.join()).not.toContain("costs");
  }
});

test("rejects HTTP/2 if the deployment keeps a health check that the provider sends over HTTP/1 only", async () => {
  const platform = startMemory({ capabilities: { health: { supported: true, http1_only: true } } });
  await deployed(platform, { health: { path: "/" } });
  const plan = (raw: Record<string, unknown>) =>
    platform.controlPlane.plan(platform.principal(), { fields: { ...fields, function_name: "app", ...raw } });
  expect((await plan({ use_http2: true }))._unsafeUnwrapErr()).toMatchObject({
    kind: "invalid_input",
    issues: [{ path: ["health"], type: "unsupported" }],
  });
  expect((await plan({ use_http2: true, health: null })).isOk()).toBe(true);
});

test("fails for the same reasons as the deploy", async () => {
  const platform = startMemory({ settings: { accountLimits: { deployments: 1 } } });
  await deployed(platform);
  const kindOf = async (raw: Record<string, unknown>, account?: string) => {
    const answer = await platform.controlPlane.plan(platform.principal(account), { fields: { ...fields, ...raw } });
    return answer._unsafeUnwrapErr();
  };
  expect(await kindOf({ port: 0, function_name: "www" })).toMatchObject({
    issues: [{ path: ["port"] }, { path: ["function_name"] }],
  });
  expect(await kindOf({ function_name: "app" }, "other")).toMatchObject({ kind: "forbidden" });
  expect(await kindOf({ function_name: "second" })).toMatchObject({ issues: [{ type: "quota_exceeded" }] });
  const refused = {
    kind: "rejected",
    issues: [{ path: ["source_archive"], message: "is empty", type: "archive_invalid" }],
  } as const;
  const bad = await platform.controlPlane.plan(platform.principal(), {
    fields: { ...fields, function_name: "app" },
    archive: refused,
  });
  expect(bad._unsafeUnwrapErr()).toMatchObject({ issues: [{ type: "archive_invalid" }] });
});
