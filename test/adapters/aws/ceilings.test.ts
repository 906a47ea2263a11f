/** The ceilings of an AWS account, computed from its quotas. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ceilingRules, ceilingsOf } from "../../../adapters/aws/ceilings.ts";
import { type CeilingRule, ceilingOf } from "../../../adapters/cloud/ceilings.ts";

const installation = { region: "eu-west-1", logReadsPerMinute: 300, balancers: 1 };
const maxima = (quotas: Parameters<typeof ceilingsOf>[0], more: object = {}) =>
  Object.fromEntries(ceilingsOf(quotas, { ...installation, ...more }).map(({ what, max }) => [what, max]));

test("returns the ceilings of a new account", () => {
  expect(maxima({})).toEqual({
    deployments: 5,
    volumes: 1000,
    "concurrent builds": 1,
    "concurrent runs of schedules": 1000,
    "followed logs": 30,
  });
});

test("the lowest quota decides, and one unit of it is reserved for a rollout", () => {
  expect(maxima({ cpus: { Value: 50 } })["deployments"]).toBe(49);
  expect(maxima({ cpus: { Value: 4000 }, rules: { Value: 40 } })["deployments"]).toBe(39);
  expect(maxima({ cpus: { Value: 0 } })["deployments"]).toBe(0);
});

test("each load balancer has quotas for its deployments", () => {
  const cpus = { Value: 4000 };
  expect(maxima({ cpus })["deployments"]).toBe(99);
  expect(maxima({ cpus }, { balancers: 3 })["deployments"]).toBe(297);
  expect(maxima({ cpus: { Value: 50 } }, { balancers: 3 })["deployments"]).toBe(49);
});

test("the lower of the server's setting and the account's quota limits the followed logs", () => {
  expect(maxima({ followers: { Value: 25 } })["followed logs"]).toBe(30);
  expect(maxima({ followers: { Value: 25 } }, { logReadsPerMinute: 6000 })["followed logs"]).toBe(150);
});

test("names the command that raises a quota only if AWS calls the quota adjustable", () => {
  const raises = (Adjustable: boolean) =>
    ceilingsOf({ builds: { QuotaCode: "L-1", Value: 1, Adjustable } }, installation).find(
      ({ what }) => what === "concurrent builds",
    )?.raise;
  expect(raises(true)).toBe(
    "aws service-quotas request-service-quota-increase --service-code codebuild --quota-code L-1 --region eu-west-1 --desired-value VALUE",
  );
  expect(raises(false)).toBe("contact AWS Support");
});

test("the documentation has the same table", () => {
  const page = readFileSync(new URL("../../../docs/providers/aws.md", import.meta.url), "utf8");
  for (const rule of Object.values<CeilingRule>(ceilingRules)) {
    const { what, quota, initial, each, source } = rule;
    const { max } = ceilingOf(rule, undefined, "assumed");
    expect(page).toContain(`| ${what} | ${max} | [${quota}](${source}) | ${initial} | ${each} |`);
  }
});
