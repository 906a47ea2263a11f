/**
 * Checks with one cheap call each that the shared resources exist. Each finding names the command that creates a
 * missing one.
 */
import { type Finding, fail, pass, warn } from "../../core/domain/wire/check.ts";
import { nameOf } from "./call-policy.ts";
import type { ClientSource } from "./clients.ts";
import type { SharedResources } from "./config.ts";
import { awsFault } from "./errors.ts";

export interface CheckResourcesOptions {
  readonly region: string;
  readonly parts: SharedResources;
  readonly athenaWorkgroup: string | undefined;
}

/** The configuration key of a resource. */
type PartName = keyof SharedResources | "athenaWorkgroup";

interface Look {
  readonly part: PartName;
  readonly value: string;
  /** The command that creates the resource. */
  readonly make: string;
  /** Returns false if the resource does not exist or is unusable. Throws the SDK's errors. */
  readonly ask: (clients: ClientSource) => Promise<boolean>;
}

const cluster = ({ region, parts: { cluster: value } }: CheckResourcesOptions): Look => ({
  part: "cluster",
  value,
  make: `aws ecs create-cluster --cluster-name ${value} --capacity-providers FARGATE --region ${region}`,
  ask: async (clients) => {
    const { DescribeClustersCommand } = await import("@aws-sdk/client-ecs");
    const { clusters = [] } = await (await clients("ecs")).send(new DescribeClustersCommand({ clusters: [value] }));
    // Deleted clusters stay visible for a while.
    return clusters.some(({ status }) => status === "ACTIVE");
  },
});

const listener = ({ parts: { listenerArn: value } }: CheckResourcesOptions): Look => ({
  part: "listenerArn",
  value,
  make: "aws elbv2 create-listener, configured like `Listener` in docs/providers/aws-template.yaml",
  ask: async (clients) => {
    const { DescribeListenersCommand } = await import("@aws-sdk/client-elastic-load-balancing-v2");
    const asked = new DescribeListenersCommand({ ListenerArns: [value] });
    return ((await (await clients("balancer")).send(asked)).Listeners ?? []).length > 0;
  },
});

const buildProject = ({ parts: { buildProject: value } }: CheckResourcesOptions): Look => ({
  part: "buildProject",
  value,
  make: "aws codebuild create-project, configured like `BuildProject` in docs/providers/aws-template.yaml",
  ask: async (clients) => {
    const { BatchGetProjectsCommand } = await import("@aws-sdk/client-codebuild");
    const { projects = [] } = await (await clients("builds")).send(new BatchGetProjectsCommand({ names: [value] }));
    return projects.length > 0;
  },
});

const repository = ({ region, parts: { repository: value } }: CheckResourcesOptions): Look => ({
  part: "repository",
  value,
  make: `aws ecr create-repository --repository-name ${value} --region ${region}`,
  ask: async (clients) => {
    const { DescribeRepositoriesCommand } = await import("@aws-sdk/client-ecr");
    const asked = new DescribeRepositoriesCommand({ repositoryNames: [value] });
    return ((await (await clients("registry")).send(asked)).repositories ?? []).length > 0;
  },
});

const stateBucket = ({ region, parts: { stateBucket: value } }: CheckResourcesOptions): Look => ({
  part: "stateBucket",
  value,
  make: `aws s3 mb s3://${value} --region ${region}; the records of deployments and volumes in the former bucket are lost`,
  ask: async (clients) => {
    const { HeadBucketCommand } = await import("@aws-sdk/client-s3");
    await (await clients("s3")).send(new HeadBucketCommand({ Bucket: value }));
    return true;
  },
});

const logGroup = ({ region, parts: { logGroup: value } }: CheckResourcesOptions): Look => ({
  part: "logGroup",
  value,
  make: `aws logs create-log-group --log-group-name ${value} --region ${region}`,
  ask: async (clients) => {
    const { FilterLogEventsCommand } = await import("@aws-sdk/client-cloudwatch-logs");
    // No entry has this time, so the call scans nothing.
    const asked = new FilterLogEventsCommand({ logGroupName: value, startTime: 0, endTime: 1, limit: 1 });
    await (await clients("logs")).send(asked);
    return true;
  },
});

const roles = ["executionRoleArn", "filesRoleArn", "schedulerRoleArn"] as const;

const role = (part: (typeof roles)[number], { parts }: CheckResourcesOptions): Look => ({
  part,
  value: parts[part],
  make: "aws iam create-role, configured like in docs/providers/aws-template.yaml",
  ask: async (clients) => {
    const { GetRoleCommand } = await import("@aws-sdk/client-iam");
    // A path may precede the role's name.
    const RoleName = parts[part].split("/").at(-1);
    const { Role } = await (await clients("iam")).send(new GetRoleCommand({ RoleName }));
    return Role !== undefined;
  },
});

const workgroup = (value: string): Look => ({
  part: "athenaWorkgroup",
  value,
  make: "deploy the stack with Sql=true",
  ask: async (clients) => {
    const { GetWorkGroupCommand } = await import("@aws-sdk/client-athena");
    const { WorkGroup } = await (await clients("athena")).send(new GetWorkGroupCommand({ WorkGroup: value }));
    return WorkGroup?.State !== "DISABLED";
  },
});

const findingOf = async ({ part, value, make, ask }: Look, clients: ClientSource): Promise<Finding> => {
  const what = `${part} ${value}`;
  const elsewhere =
    part === "athenaWorkgroup"
      ? "with --aws-athena-workgroup"
      : `as '${part}' in the section 'aws' of portside.config.json`;
  const fix = `${make}; or set another one ${elsewhere}`;
  try {
    return (await ask(clients)) ? pass(what, "exists") : fail(what, "does not exist", fix);
  } catch (error) {
    const fault = awsFault(error);
    if (fault?.kind === "state") return fail(what, `does not exist (${nameOf(error)})`, fix);
    return warn(what, `the check failed: ${(error as Error).message} (${nameOf(error)})`);
  }
};

/** Returns one finding per resource, in a fixed order. The checks run concurrently. */
export const checkResources = (looked: CheckResourcesOptions, clients: ClientSource): Promise<Finding[]> => {
  const { athenaWorkgroup } = looked;
  const looks = [
    ...[cluster, listener, stateBucket, buildProject, repository, logGroup].map((look) => look(looked)),
    ...roles.map((part) => role(part, looked)),
    ...(athenaWorkgroup === undefined ? [] : [workgroup(athenaWorkgroup)]),
  ];
  return Promise.all(looks.map((look) => findingOf(look, clients)));
};
