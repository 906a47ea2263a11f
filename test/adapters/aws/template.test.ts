/** The template defines everything that the provider reads, and contains the function that the tests run. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { bucketsPolicy, executionPolicy } from "../../../adapters/aws/accounts/roles.ts";
import { arnParts } from "../../../adapters/aws/arns.ts";
import { sharedResourcesSchema } from "../../../adapters/aws/config.ts";
import { RETENTION_DAYS } from "../../../adapters/aws/logs/capabilities.ts";
import { actionsOf, needs as asked, policyOutputs, sqlNeeds } from "../../../adapters/aws/requirements.ts";
import { functionSeconds, maxFireSeconds } from "../../../adapters/aws/schedules/job.ts";
import { logTableColumns } from "../../../adapters/aws/sql/views.ts";
import { fireLimits } from "../../../core/domain/accounts/limits.ts";
import { cronFunctionText } from "../../fakes/aws/scheduler/function.ts";
import { awsConfig } from "../../fakes/aws/test-config.ts";
import { accountOf } from "../../support/http/brands.ts";
import { cfnLint, needs } from "../../support/vitest/machine.ts";

const path = "docs/providers/aws-template.yaml";
const template = readFileSync(path, "utf8");

/** The lines of a resource or a section. */
const part = (name: string, indent = "  "): string =>
  new RegExp(`^${indent}${name}:\\n((?:${indent} .*\\n|\\n|${indent}#.*\\n)*)`, "m").exec(template)?.[1] ?? "";

/** Outputs for people, the doctor and SQL; the provider needs none of them. */
const forPeople = ["balancerName", ...policyOutputs, "athenaWorkgroup", "logTable"];

/**
 * Actions without a resource type, according to the service reference: list_amazonelasticcontainerservice.html,
 * list_awselasticloadbalancingv2.html, list_awscertificatemanager.html, list_amazons3files.html, list_amazonec2.html, list_servicequotas.html and
 * list_awsidentityandaccessmanagementiam.html
 * below https://docs.aws.amazon.com/service-authorization/latest/reference/.
 */
const withoutResources = [
  "ecs:DescribeTaskDefinition",
  "ecs:ListTaskDefinitions",
  "ecs:DeregisterTaskDefinition",
  "elasticloadbalancing:DescribeTargetGroups",
  "elasticloadbalancing:DescribeTargetHealth",
  "elasticloadbalancing:DescribeRules",
  "elasticloadbalancing:DescribeListeners",
  "elasticloadbalancing:DescribeLoadBalancers",
  "acm:RequestCertificate",
  "acm:ListCertificates",
  "cloudwatch:GetMetricData",
  "cloudwatch:ListMetrics",
  "s3files:CreateFileSystem",
  "ec2:DescribeSubnets",
  "ec2:DescribeVpcs",
  "ec2:DescribeAvailabilityZones",
  "ec2:DescribeSecurityGroups",
  "ec2:DescribeNetworkInterfaces",
  "ec2:DescribeNetworkInterfaceAttribute",
  "iam:GetAccountSummary",
  "servicequotas:ListServiceQuotas",
  "servicequotas:ListAWSDefaultServiceQuotas",
  "elasticloadbalancing:DescribeAccountLimits",
];

/**
 * Actions that Application Auto Scaling calls with the caller's permissions, first without parameters:
 * https://docs.aws.amazon.com/autoscaling/application/userguide/security_iam_permission_validation.html
 */
const calledWithoutName = ["cloudwatch:PutMetricAlarm", "cloudwatch:DescribeAlarms", "cloudwatch:DeleteAlarms"];

/** Values of the template's pseudo parameters in the region with the longest name. */
const filled: Readonly<Record<string, string>> = {
  "AWS::Partition": "aws",
  "AWS::Region": "ap-southeast-1",
  "AWS::AccountId": "123456789012",
};

test("has the shared resources as outputs, by name", () => {
  const names = [...part("Outputs", "").matchAll(/^ {2}(\w+): \{/gm)].map(([, name]) => name as string);
  expect(names.filter((name) => !forPeople.includes(name))).toEqual(
    Object.keys(sharedResourcesSchema.shape).filter((name) => name !== "moreListenerArns"),
  );
  // `moreListenerArns` has an output for each of its values.
  expect(part("Outputs", "")).toContain("- listenerArn$" + "{Number}: {");
});

test("contains the function that the tests run, within the size limit", () => {
  const code =
    /^ {8}ZipFile: \|\n((?: {10}.*\n|\n)*)/m.exec(template.slice(template.indexOf("ZipFile") - 8))?.[1] ?? "";
  expect(code.replaceAll(/^ {10}/gm, "")).toBe(cronFunctionText);
  // "4096 characters": CloudFormation's long-standing limit for inline code (AWS::Lambda::Function Code, `ZipFile`).
  expect(cronFunctionText.length).toBeLessThanOrEqual(4096);
});

test("has the provider's retention and time limits", () => {
  expect(part("Logs")).toContain(`RetentionInDays: ${RETENTION_DAYS}\n`);
  expect(part("CronFunction")).toContain(`Timeout: ${functionSeconds}\n`);
  expect(maxFireSeconds).toBeLessThan(functionSeconds);
  expect(part("CronInvokes")).toContain(`MaximumEventAgeInSeconds: ${fireLimits.lateness / 1000}\n`);
  expect(part("CronInvokes")).toContain("MaximumRetryAttempts: 0\n");
});

test("can be deployed twice in a region: every name contains the stack's", () => {
  const names = [...template.matchAll(/^ {6}(\w*Name|DatabaseInput): (.+)$/gm)]
    .map(([, key, value]) => `${key}: ${value}`)
    .filter((name) => !/^(DatabaseName|RoleName|PolicyName)/.test(name));
  expect(names.length).toBeGreaterThanOrEqual(7);
  for (const name of names) expect(name).toMatch(/AWS::StackName|!Ref [A-Z][A-Za-z]+$/);
});

const servers = ["examples/hello/server.js", "examples/logs-node/server.js", "hosts/packer/templates.ts"];

test.each([...servers, "adapters/shared/deploy/static-site.ts", "hosts/cli/prove/source.ts"])(
  "%s keeps idle connections longer than the load balancer",
  (file) => {
    const [, millis = "0"] = /keepAliveTimeout = ([\d_]+)/.exec(readFileSync(file, "utf8")) ?? [];
    const [, seconds] = /idle_timeout.timeout_seconds\n +Value: "(\d+)"/.exec(template) ?? [];
    expect(Number(millis.replaceAll("_", ""))).toBeGreaterThan(Number(seconds) * 1000);
  },
);

test("has the log table's columns", () => {
  const columns = [...part("LogTable").matchAll(/- \{ Name: (\w+), Type: "?([^"}]+?)"? \}/g)].map(([, name, type]) => [
    name,
    type,
  ]);
  expect(columns).toEqual(logTableColumns);
});

interface Statement {
  readonly actions: readonly string[];
  /** May still contain the template's functions, such as `!Sub`. */
  readonly resources: readonly string[];
  readonly condition: string;
}

/** The statements of a platform policy, by the output that names it. */
const statementsOf = (output: string): Statement[] => {
  const resource = new RegExp(`${output}: \\{.*!Ref (\\w+) \\}`).exec(template)?.[1] ?? "";
  const text = part(resource).replaceAll(/^ *#.*\n/gm, "");
  return text
    .split("- Effect: Allow\n")
    .slice(1)
    .map((one) => {
      const [actions = "", rest = ""] = one.split("Resource:");
      const [resources = "", condition = ""] = rest.split("Condition:");
      return {
        actions: [...actions.matchAll(/[a-z0-9-]+:[A-Z]\w+/g)].map(([action]) => action),
        resources: [...resources.matchAll(/"\*"|!GetAtt [\w.]+|!Ref [\w:]+|!Sub "?[^\s",\]]+/g)].map(
          ([named]) => named,
        ),
        condition: condition.trim(),
      };
    });
};

describe("the platform's own policies", () => {
  test.each(policyOutputs)("%s grants exactly the actions that the adapter needs", (output) => {
    const granted = new Set(statementsOf(output).flatMap(({ actions }) => actions));
    const wanted = Object.values({ ...asked, ...sqlNeeds }).filter(({ policy }) => policy === output);
    const needed = new Set(wanted.flatMap(actionsOf));
    expect([...granted].sort()).toEqual([...needed].sort());
  });

  test.each(policyOutputs)("%s names resources for every action that supports them", (output) => {
    const everywhere = statementsOf(output).filter(({ resources }) => resources.includes('"*"'));
    for (const one of everywhere.flatMap(({ actions }) => actions))
      expect([...withoutResources, ...calledWithoutName]).toContain(one);
    for (const { resources } of statementsOf(output)) expect(resources).not.toEqual([]);
  });

  test("alarm calls that name no alarm are allowed", () => {
    for (const action of calledWithoutName) {
      const granting = statementsOf("platformPolicyArn").filter(({ actions }) => actions.includes(action));
      expect(
        granting.flatMap(({ resources }) => resources),
        action,
      ).toContain('"*"');
    }
  });

  test("roles are created within the boundary and passed only to their services", () => {
    const about = (action: string) =>
      statementsOf("platformPolicyArn")
        .concat(statementsOf("platformStoragePolicyArn"))
        .filter(({ actions }) => actions.includes(action));
    for (const action of ["iam:CreateRole", "iam:PutRolePolicy"])
      for (const { condition } of about(action)) expect(condition).toContain("iam:PermissionsBoundary: !Ref Boundary");
    expect(about("iam:PassRole")).toHaveLength(3);
    for (const { condition } of about("iam:PassRole")) expect(condition).toContain("iam:PassedToService: ");
  });

  test("the boundary allows what the accounts' roles allow, and each role only the secrets with its own tag", () => {
    const boundary = part("Boundary").split("- Effect: Allow\n");
    const owner = accountOf("acme");
    const arn = arnParts(awsConfig.shared.permissionsBoundaryArn);
    const policies = [bucketsPolicy(arn, owner), executionPolicy(arn, awsConfig, owner)];
    const statements = policies.flatMap((one) => (one as { Statement: { Action: string[] }[] }).Statement);
    for (const action of statements.flatMap(({ Action }) => Action)) expect(part("Boundary")).toContain(action);
    const secrets = boundary.find((one) => one.includes("secretsmanager:GetSecretValue")) ?? "";
    expect(secrets).toContain(":secret:portside/*\n");
    expect(secrets).toContain('secretsmanager:ResourceTag/portside-owner: "$' + '{aws:PrincipalTag/portside-owner}"');
  });

  // "The total character count cannot exceed 6,144 (without white space)":
  // .../IAM/latest/UserGuide/reference_iam-quotas.html
  test.each(policyOutputs)("%s stays within the size limit, even with long names", (output) => {
    const statements = statementsOf(output).map(({ actions, resources, condition }) => ({
      Effect: "Allow",
      Action: actions,
      Resource: resources.map((one) =>
        one.startsWith("!Sub")
          ? one.slice("!Sub ".length).replaceAll(/\$\{([^}]*)\}/g, (_, name: string) => filled[name] ?? "x".repeat(60))
          : "x".repeat(one === '"*"' ? 1 : 120),
      ),
      ...(condition === "" ? {} : { Condition: `${condition}${"x".repeat(60)}` }),
    }));
    expect(JSON.stringify({ Version: "2012-10-17", Statement: statements }).length).toBeLessThanOrEqual(6144);
  });
});

// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-deletionpolicy.html
test("a failed creation keeps no named resource, and a deleted stack keeps its data", () => {
  const policies = [...template.matchAll(/^ {4}(DeletionPolicy|UpdateReplacePolicy): (\w+)$/gm)];
  const named = policies.map(([, name, value]) => `${name}: ${value}`);
  expect(named).not.toContain("DeletionPolicy: Retain");
  for (const resource of ["Logs", "Repository", "StateBucket", "SqlBucket"])
    expect(part(resource), resource).toContain(
      "DeletionPolicy: RetainExceptOnCreate\n    UpdateReplacePolicy: Retain\n",
    );
});

// https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/818
test("the cluster can be created in an account without ECS's service-linked role, which Portside may create", () => {
  expect(part("Cluster")).not.toContain("CapacityProviders");
  const allowed = statementsOf("platformPolicyArn").find(({ actions }) =>
    actions.includes("iam:CreateServiceLinkedRole"),
  );
  for (const service of ["ecs", "ecs.application-autoscaling"])
    expect(allowed?.resources.join(" ")).toContain(`:role/aws-service-role/${service}.amazonaws.com/*`);
});

// https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-files-prereq-policies.html
test("S3 Files may read rules, whatever their name, and change only its own", () => {
  const statements = part("FilesRole").split("- Effect: Allow\n").slice(1);
  const about = (action: string) => statements.find((one) => one.includes(action)) ?? "";
  for (const action of ["DescribeRule", "ListRules", "ListRuleNamesByTarget", "ListTargetsByRule"])
    expect(about(`events:${action}`)).toMatch(/Resource: !Sub arn:.*:rule\/\*\n/);
  for (const action of ["PutRule", "DeleteRule", "PutTargets", "RemoveTargets", "EnableRule", "DisableRule"])
    expect(about(`events:${action}`)).toContain("events:ManagedBy: elasticfilesystem.amazonaws.com");
});

test("Portside may change only the rules of S3 Files", () => {
  const changes = ["events:DeleteRule", "events:PutRule", "events:PutTargets", "events:RemoveTargets"];
  for (const { actions, resources, condition } of statementsOf("platformStoragePolicyArn"))
    if (actions.some((action) => changes.includes(action))) {
      expect(resources.join()).toContain(":rule/DO-NOT-DELETE-S3-Files*");
      expect(condition).toContain("events:ManagedBy: elasticfilesystem.amazonaws.com");
    }
});

test("no role has all actions, and only actions without resource types apply to all resources", () => {
  expect(template).not.toMatch(/Action: "?\*/);
  const roles = template.slice(0, template.indexOf("  PlatformPolicy:"));
  const everywhere = roles.split("\n").filter((line) => /Resource: "\*"/.test(line));
  for (const line of everywhere) expect(line).toContain("ecr:GetAuthorizationToken");
});

test("every load balancer has the same settings, apart from its name", () => {
  const text = template.replaceAll(/\{ Ref: !Sub "(\w+)\$\{Number\}" \}/g, "!Ref $1").replaceAll("$" + "{Number}", "");
  const settingsAfter = (start: string): string[] =>
    (text.split(start)[1] ?? "")
      .split("has this host name.")[0]
      ?.split("\n")
      .map((line) => line.trim())
      .filter((line) => !/^(Condition: |Name: |# At most 32 )/.test(line)) ?? [];
  const first = settingsAfter("\n  Balancer:\n");
  expect(first.length).toBeGreaterThan(20);
  expect(settingsAfter("\n    - Balancer:\n")).toEqual(first);
});

test("passes cfn-lint, with one load balancer and with three", (context) => {
  needs(context, "cfn-lint");
  const folder = mkdtempSync(join(tmpdir(), "portside-template-"));
  const three = join(folder, "three.yaml");
  writeFileSync(three, template.replace("Default: none", 'Default: "2,3"'));
  try {
    expect(execFileSync(cfnLint, [path, three], { encoding: "utf8" })).toBe("");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
