/** Checks the setup of the AWS account. Each finding states the problem, if there is one, and how to fix it. */
import { type Finding, fail, pass, warn } from "../../core/domain/wire/check.ts";
import { spoolLocation } from "../shared/archives/spool-location.ts";
import { type FindPackage, packagesProblem } from "../shared/runtime/optional-package.ts";
import { problemOf } from "./call-policy.ts";
import { checkQuotas } from "./check-quotas.ts";
import { checkResources } from "./check-resources.ts";
import { type ClientSource, packages, sendCommand } from "./clients.ts";
import type { AwsSettings } from "./config.ts";
import { sharedByBalancer } from "./deploy/balancers.ts";
import { actionsOf, type Need, needs, sqlNeeds } from "./requirements.ts";
import { joinResources, outputsOf, sqlResources, unnamedResources } from "./shared-resources.ts";
import { checkCors } from "./volumes/check-cors.ts";

type DoctorConfig = Pick<
  AwsSettings,
  "region" | "dataDir" | "sourceSpool" | "stack" | "shared" | "logReadsPerMinute" | "athenaWorkgroup" | "logTable"
>;

interface Caller {
  /** The ARN whose permissions IAM simulates. For a role's session, this is the ARN of the role. */
  readonly arn: string;
  /** Why the ARN may lack the role's path. */
  readonly pathProblem?: string;
  readonly attach: (policy: string) => string;
}

const SESSION = /^arn:([^:]+):sts::(\d+):assumed-role\/([^/]+)\//;

/** Matches the role of a permission set, `AWSReservedSSO_NAME_SUFFIX`. IAM rejects changes to the role's policies. */
const SSO_ROLE = /^AWSReservedSSO_(.+)_[^_]+$/;

/** Returns how to attach a policy: https://docs.aws.amazon.com/singlesignon/latest/userguide/howtocmp.html */
const attachTo = (kind: "role" | "user", name: string, policy: string): string => {
  const [, permissionSet] = (kind === "role" && SSO_ROLE.exec(name)) || [];
  return permissionSet === undefined
    ? `aws iam attach-${kind}-policy --${kind}-name ${name} --policy-arn ${policy}`
    : `in IAM Identity Center, attach ${policy} to the permission set ${permissionSet} as a customer managed policy`;
};

/**
 * Reads the ARN of a session's role from IAM, because a session's ARN lacks the role's path. Roles of IAM Identity
 * Center have a path that may contain a region: https://github.com/serverless/serverless/issues/13652
 */
const callerOf = async (arn: string, clients: ClientSource): Promise<Caller> => {
  // https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-arns
  const [, partition, account, role] = SESSION.exec(arn) ?? [];
  if (role === undefined) {
    const kind = arn.includes(":user/") ? "user" : "role";
    return { arn, attach: (policy) => attachTo(kind, arn.split("/").at(-1) ?? arn, policy) };
  }
  const attach = (policy: string) => attachTo("role", role, policy);
  const withoutPath = `arn:${partition}:iam::${account}:role/${role}`;
  try {
    const found = (await sendCommand(clients, "iam", "GetRoleCommand", { RoleName: role })).Role?.Arn;
    return { arn: found ?? withoutPath, attach };
  } catch (error) {
    return { arn: withoutPath, pathProblem: problemOf(error), attach };
  }
};

/**
 * Checks that the AWS packages are installed. The packages are optional and load at first use. Without this check, a
 * missing package would be noticed only when a running deploy fails.
 */
const packagesFinding = (find: FindPackage | undefined): Finding | undefined => {
  const problem = packagesProblem(packages, find);
  return problem === undefined ? undefined : fail("AWS packages", problem.words, problem.fix);
};

/**
 * Checks the credentials. The call needs no permission:
 * https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html
 */
async function* credentials(clients: ClientSource): AsyncGenerator<Finding, Caller | undefined> {
  try {
    const { Arn = "" } = await sendCommand(clients, "sts", "GetCallerIdentityCommand", {});
    yield pass("credentials", `of ${Arn}`);
    return await callerOf(Arn, clients);
  } catch (error) {
    yield fail("credentials", problemOf(error), "aws configure sso");
    return undefined;
  }
}

/** Returns the command that deploys the stack. An existing stack keeps the values of omitted parameters. */
const deployStack = ({ stack, region }: DoctorConfig, ...parameters: readonly string[]): string =>
  [
    `aws cloudformation deploy --stack-name ${stack} --region ${region} --capabilities CAPABILITY_IAM CAPABILITY_AUTO_EXPAND`,
    "--template-file node_modules/portside/docs/providers/aws-template.yaml",
    ...(parameters.length === 0 ? [] : ["--parameter-overrides", ...parameters]),
  ].join(" ");

/**
 * Returns the stack's outputs. Does not read the stack if the configuration names every shared resource. If the stack
 * does not exist, yields a failure and returns no outputs.
 */
async function* stack(config: DoctorConfig, clients: ClientSource): AsyncGenerator<Finding, Record<string, string>> {
  const what = `stack ${config.stack}, with the shared resources`;
  if (unnamedResources(config).length === 0) return {};
  try {
    const outputs = await outputsOf(config.stack, clients);
    yield pass(what, `outputs: ${Object.keys(outputs).length}`);
    return outputs;
  } catch (error) {
    yield fail(what, problemOf(error), deployStack(config, "Domain=YOUR.DOMAIN"));
    return {};
  }
}

/** Returns the denied actions: https://docs.aws.amazon.com/IAM/latest/APIReference/API_SimulatePrincipalPolicy.html */
const deniedOf = async (actions: readonly string[], caller: Caller, clients: ClientSource): Promise<string[]> => {
  const denied: string[] = [];
  for (let marker: string | undefined; ; ) {
    const input = { PolicySourceArn: caller.arn, ActionNames: [...actions], Marker: marker };
    const response = await sendCommand(clients, "iam", "SimulatePrincipalPolicyCommand", input);
    for (const { EvalActionName = "", EvalDecision } of response.EvaluationResults ?? [])
      if (EvalDecision !== "allowed") denied.push(EvalActionName);
    marker = response.IsTruncated === true ? response.Marker : undefined;
    if (marker === undefined) return denied;
  }
};

/**
 * Yields a warning, not a failure, for a denied action. The simulation covers all resources (`*`), so it denies an
 * action that a policy allows only on certain resources, although that policy may suffice.
 */
async function* permissions(
  required: Readonly<Record<string, Need>>,
  caller: Caller,
  outputs: Readonly<Record<string, string>>,
  clients: ClientSource,
): AsyncGenerator<Finding> {
  try {
    for (const [service, need] of Object.entries(required)) {
      const denied = await deniedOf(actionsOf(need), caller, clients);
      const policy = outputs[need.policy];
      yield denied.length === 0
        ? pass(service, "all actions allowed")
        : warn(
            service,
            `${need.why}; not allowed on all resources: ${denied.join(", ")}`,
            policy === undefined ? undefined : caller.attach(policy),
          );
    }
  } catch (error) {
    const { pathProblem } = caller;
    if (pathProblem === undefined) return yield warn("permissions", `the check failed: ${problemOf(error)}`);
    yield warn(
      "permissions",
      `not checked: the simulation as ${caller.arn} failed: ${problemOf(error)}. If the role has a path, the check needs iam:GetRole on the role, which failed: ${pathProblem}`,
    );
  }
}

/**
 * Checks the setup of the AWS account. Yields each finding when its check ends. Stops early if packages are missing or
 * the credentials do not work.
 *
 * @param find finds an installed package; tests pass their own
 */
export async function* diagnoseAws(
  config: DoctorConfig,
  clients: ClientSource,
  environment: NodeJS.ProcessEnv = process.env,
  find?: FindPackage,
): AsyncGenerator<Finding> {
  const missingPackages = packagesFinding(find);
  if (missingPackages !== undefined) return yield missingPackages;
  const caller = yield* credentials(clients);
  if (caller === undefined) return;
  const outputs = yield* stack(config, clients);
  const joined = joinResources(config, outputs);
  const { athenaWorkgroup } = sqlResources(config, outputs);
  if ("missing" in joined)
    for (const name of joined.missing)
      yield fail(`shared resource ${name}`, "not named by the stack or the configuration", deployStack(config));
  else yield* await checkResources({ region: config.region, resources: joined.resources, athenaWorkgroup }, clients);
  const required = athenaWorkgroup === undefined ? needs : { ...needs, ...sqlNeeds };
  yield* permissions(required, caller, outputs, clients);
  const balancers = "missing" in joined ? 1 : sharedByBalancer(joined.resources).length;
  yield* checkQuotas(config, balancers, clients, environment);
  const stateBucket = config.shared.stateBucket ?? outputs["stateBucket"];
  if (stateBucket === undefined) return;
  yield* checkCors(stateBucket, clients);
  yield spoolLocation(config.sourceSpool, config.dataDir, stateBucket, environment).finding;
}
