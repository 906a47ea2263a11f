/** The infrastructure template has what the provider reads, and the very function that the tests run. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { logTableColumns } from "../../../adapters/aws/athena/views.ts";
import { sharedPartsSchema } from "../../../adapters/aws/config.ts";
import { RETENTION_DAYS } from "../../../adapters/aws/logs/capabilities.ts";
import { functionSeconds, maxFireSeconds, SCHEDULE_GROUP } from "../../../adapters/aws/scheduler/job.ts";
import { fireLimits } from "../../../core/domain/limits.ts";
import { cronFunctionText } from "../../fakes/aws/scheduler/function.ts";
import { cfnLint, needs } from "../../support/machine.ts";

const path = "docs/aws-template.yaml";
const template = readFileSync(path, "utf8");

/** The lines of a resource, or of a section. */
const part = (name: string, indent = "  "): string =>
  new RegExp(`^${indent}${name}:\\n((?:${indent} .*\\n|\\n|${indent}#.*\\n)*)`, "m").exec(template)?.[1] ?? "";

/** Made by hand or by SQL's own part of the stack; the provider asks for none of these. */
const forPeople = ["balancerName", "athenaWorkgroup", "logTable"];

test("its outputs are the shared parts, by their names", () => {
  const names = [...part("Outputs", "").matchAll(/^ {2}(\w+):/gm)].map(([, name]) => name as string);
  expect(names.filter((name) => !forPeople.includes(name))).toEqual(Object.keys(sharedPartsSchema.shape));
});

test("its function is the one that the tests run, and has room", () => {
  const code =
    /^ {8}ZipFile: \|\n((?: {10}.*\n|\n)*)/m.exec(template.slice(template.indexOf("ZipFile") - 8))?.[1] ?? "";
  expect(code.replaceAll(/^ {10}/gm, "")).toBe(cronFunctionText);
  // "4096 characters": the bound of inline code (AWS::Lambda::Function Code, `ZipFile`) as CloudFormation has long had it.
  expect(cronFunctionText.length).toBeLessThanOrEqual(4096);
});

test("its numbers are the provider's", () => {
  expect(part("Logs")).toContain(`RetentionInDays: ${RETENTION_DAYS}\n`);
  expect(part("CronFunction")).toContain(`Timeout: ${functionSeconds}\n`);
  expect(maxFireSeconds).toBeLessThan(functionSeconds);
  expect(part("CronInvokes")).toContain(`MaximumEventAgeInSeconds: ${fireLimits.lateness / 1000}\n`);
  expect(part("CronInvokes")).toContain("MaximumRetryAttempts: 0\n");
  expect(part("Schedules")).toContain(`Name: ${SCHEDULE_GROUP}\n`);
});

test("its table has the columns that statements are put over", () => {
  const columns = [...part("LogTable").matchAll(/- \{ Name: (\w+), Type: "?([^"}]+?)"? \}/g)].map(([, name, type]) => [
    name,
    type,
  ]);
  expect(columns).toEqual(logTableColumns);
});

test("no role may do everything, and only what has no resource to name is for all of them", () => {
  expect(template).not.toMatch(/Action: "?\*/);
  const everywhere = template.split("\n").filter((line) => /Resource: "\*"/.test(line));
  for (const line of everywhere) expect(line).toContain("ecr:GetAuthorizationToken");
});

test("cfn-lint finds nothing wrong with it", (context) => {
  needs(context, "cfn-lint");
  expect(execFileSync(cfnLint, [path], { encoding: "utf8" })).toBe("");
});
