/** The ceilings of a project, computed from its quotas. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ceilingRules, ceilingsOf, type QuotaMetric, quotaOf } from "../../../adapters/gcp/ceilings.ts";

const initial = ceilingsOf({}, 2);

test("returns the ceilings of a new project", () => {
  expect(Object.fromEntries(initial.map(({ kind, max }) => [kind, max]))).toEqual({
    deployments: 1000,
    schedules: 1000,
    accounts: 98,
    builds: 2,
    deploys: 20,
    instances: 20,
    followers: 240,
  });
});

test("known quotas replace the defaults of a new project", () => {
  const ceilings = ceilingsOf({ builds: 7, deploys: Number.POSITIVE_INFINITY, accounts: 1 }, 4);
  const found = Object.fromEntries(ceilings.map(({ kind, max, words }) => [kind, { max, words }]));
  expect(found).toMatchObject({
    builds: { max: 3, words: "3 (build CPUs in the region: 7; each uses 2)" },
    deploys: { max: Number.POSITIVE_INFINITY, words: expect.stringMatching(/^no limit/) },
    // The identities of other programs already exceed the quota.
    accounts: { max: 0 },
    instances: { max: 20, words: expect.stringContaining("20000, assumed") },
  });
});

test("the documentation has the same table", () => {
  const page = readFileSync(new URL("../../../docs/providers/gcp.md", import.meta.url), "utf8");
  for (const { kind, max } of initial) {
    const { what, quota, initial: limit, each, source } = ceilingRules[kind];
    expect(page).toContain(`| ${what} | ${max} | [${quota}](${source}) | ${limit} | ${each} |`);
  }
});

const NAME = { service: "s", metric: "s/m", per: "total" } as const;
const metric = (...consumerQuotaLimits: NonNullable<QuotaMetric["consumerQuotaLimits"]>): QuotaMetric[] => [
  { metric: "s/other", consumerQuotaLimits: [{ unit: "1/{project}", quotaBuckets: [{ effectiveLimit: "99" }] }] },
  { metric: "s/m", consumerQuotaLimits },
];
const [here, there] = [{ region: "here" }, { region: "there" }];

test.each([
  ["of the project", metric({ unit: "1/{project}", quotaBuckets: [{ effectiveLimit: "7" }] }), 7],
  [
    "of the region has priority over the default",
    metric({
      unit: "1/{project}/{region}",
      quotaBuckets: [
        { effectiveLimit: "7" },
        { effectiveLimit: "5", dimensions: here },
        { effectiveLimit: "1", dimensions: there },
      ],
    }),
    5,
  ],
  [
    "that has no value is 0",
    metric({ unit: "1/{project}/{region}", quotaBuckets: [{ effectiveLimit: "7" }, { dimensions: here }] }),
    0,
  ],
  [
    "of -1 means no limit",
    metric({ unit: "1/{project}", quotaBuckets: [{ effectiveLimit: "-1" }] }),
    Number.POSITIVE_INFINITY,
  ],
  [
    "that is the lowest of several",
    metric(
      { unit: "1/{project}", quotaBuckets: [{ effectiveLimit: "7" }] },
      { unit: "1/{project}/{region}", quotaBuckets: [{ effectiveLimit: "3" }] },
    ),
    3,
  ],
  [
    "per user or minute does not count",
    metric(
      { unit: "1/{project}/{user}", quotaBuckets: [{ effectiveLimit: "7" }] },
      { unit: "1/min/{project}", quotaBuckets: [{ effectiveLimit: "3" }] },
    ),
    undefined,
  ],
  ["of another region is unknown", metric({ unit: "1/{project}", quotaBuckets: [{ dimensions: there }] }), undefined],
  ["of an unknown metric", [], undefined],
])("a quota %s", (_what, metrics, limit) => {
  expect(quotaOf(metrics, NAME, "here")).toBe(limit);
});

test("a rate counts only limits per minute", () => {
  const metrics = metric(
    { unit: "1/{project}", quotaBuckets: [{ effectiveLimit: "1" }] },
    { unit: "1/min/{project}", quotaBuckets: [{ effectiveLimit: "3" }] },
  );
  expect(quotaOf(metrics, { ...NAME, per: "minute" }, "here")).toBe(3);
});
