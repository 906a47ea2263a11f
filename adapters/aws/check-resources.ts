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
  readonly resources: SharedResources;
  readonly athenaWorkgroup: string | undefined;
}

/** The configuration key of a resource. */
type ResourceName = keyof SharedResources | "athenaWorkgroup";

interface ResourceCheck {
  readonly name: ResourceName;
  readonly value: string;
  /** The command that creates the resource. */
  readonly create: string;
  /** Returns false if the resource does not exist or is unusable. Throws the SDK's errors. */
  readonly exists: (clients: ClientSource) => Promise<boolean>;
}

const cluster = ({ region, resources: { cluster: value } }: CheckResourcesOptions): ResourceCheck => ({
  name: "cluster",
  value,
  create: `aws ecs create-cluster --cluster-name ${value} --capacity-providers FARGATE --region ${region}`,
  exists: async (clients) => {
    const { DescribeClustersCommand } = await import("@aws-sdk/client-ecs");
    const { clusters = [] } = await (await clients("ecs")).send(new DescribeClustersCommand({ clusters: [value] }));
    // Deleted clusters stay visible for a while.
    return clusters.some(({ status }) => status === "ACTIVE");
  },
});

const listener = ({ resources: { listenerArn: value } }: CheckResourcesOptions): ResourceCheck => ({
  name: "listenerArn",
  value,
  create: "aws elbv2 create-listener, configured like `Listener` in docs/providers/aws-template.yaml",
  exists: async (clients) => {
    const { DescribeListenersCommand } = await import("@aws-sdk/client-elastic-load-balancing-v2");
    const command = new DescribeListenersCommand({ ListenerArns: [value] });
    return ((await (await clients("balancer")).send(command)).Listeners ?? []).length > 0;
  },
});

const buildProject = ({ resources: { buildProject: value } }: CheckResourcesOptions): ResourceCheck => ({
  name: "buildProject",
  value,
  create: "aws codebuild create-project, configured like `BuildProject` in docs/providers/aws-template.yaml",
  exists: async (clients) => {
    const { BatchGetProjectsCommand } = await import("@aws-sdk/client-codebuild");
    const { projects = [] } = await (await clients("builds")).send(new BatchGetProjectsCommand({ names: [value] }));
    return projects.length > 0;
  },
});

const repository = ({ region, resources: { repository: value } }: CheckResourcesOptions): ResourceCheck => ({
  name: "repository",
  value,
  create: `aws ecr create-repository --repository-name ${value} --region ${region}`,
  exists: async (clients) => {
    const { DescribeRepositoriesCommand } = await import("@aws-sdk/client-ecr");
    const command = new DescribeRepositoriesCommand({ repositoryNames: [value] });
    return ((await (await clients("registry")).send(command)).repositories ?? []).length > 0;
  },
});

const stateBucket = ({ region, resources: { stateBucket: value } }: CheckResourcesOptions): ResourceCheck => ({
  name: "stateBucket",
  value,
  create: `aws s3 mb s3://${value} --region ${region}; the records of deployments and volumes in the former bucket are lost`,
  exists: async (clients) => {
    const { HeadBucketCommand } = await import("@aws-sdk/client-s3");
    await (await clients("s3")).send(new HeadBucketCommand({ Bucket: value }));
    return true;
  },
});

const logGroup = ({ region, resources: { logGroup: value } }: CheckResourcesOptions): ResourceCheck => ({
  name: "logGroup",
  value,
  create: `aws logs create-log-group --log-group-name ${value} --region ${region}`,
  exists: async (clients) => {
    const { FilterLogEventsCommand } = await import("@aws-sdk/client-cloudwatch-logs");
    // No entry has this time, so the call scans nothing.
    const command = new FilterLogEventsCommand({ logGroupName: value, startTime: 0, endTime: 1, limit: 1 });
    await (await clients("logs")).send(command);
    return true;
  },
});

const roles = ["executionRoleArn", "filesRoleArn", "schedulerRoleArn"] as const;

const role = (name: (typeof roles)[number], { resources }: CheckResourcesOptions): ResourceCheck => ({
  name,
  value: resources[name],
  create: "aws iam create-role, configured like in docs/providers/aws-template.yaml",
  exists: async (clients) => {
    const { GetRoleCommand } = await import("@aws-sdk/client-iam");
    // A path may precede the role's name.
    const RoleName = resources[name].split("/").at(-1);
    const { Role } = await (await clients("iam")).send(new GetRoleCommand({ RoleName }));
    return Role !== undefined;
  },
});

const workgroup = (value: string): ResourceCheck => ({
  name: "athenaWorkgroup",
  value,
  create: "deploy the stack with Sql=true",
  exists: async (clients) => {
    const { GetWorkGroupCommand } = await import("@aws-sdk/client-athena");
    const { WorkGroup } = await (await clients("athena")).send(new GetWorkGroupCommand({ WorkGroup: value }));
    return WorkGroup?.State !== "DISABLED";
  },
});

const findingOf = async ({ name, value, create, exists }: ResourceCheck, clients: ClientSource): Promise<Finding> => {
  const what = `${name} ${value}`;
  const setting =
    name === "athenaWorkgroup"
      ? "with --aws-athena-workgroup"
      : `as '${name}' in the section 'aws' of portside.config.json`;
  const fix = `${create}; or set another one ${setting}`;
  try {
    return (await exists(clients)) ? pass(what, "exists") : fail(what, "does not exist", fix);
  } catch (error) {
    const fault = awsFault(error);
    if (fault?.kind === "state") return fail(what, `does not exist (${nameOf(error)})`, fix);
    return warn(what, `the check failed: ${(error as Error).message} (${nameOf(error)})`);
  }
};

/** Returns one finding per resource, in a fixed order. The checks run concurrently. */
export const checkResources = (options: CheckResourcesOptions, clients: ClientSource): Promise<Finding[]> => {
  const { athenaWorkgroup } = options;
  const checks = [
    ...[cluster, listener, stateBucket, buildProject, repository, logGroup].map((check) => check(options)),
    ...roles.map((name) => role(name, options)),
    ...(athenaWorkgroup === undefined ? [] : [workgroup(athenaWorkgroup)]),
  ];
  return Promise.all(checks.map((check) => findingOf(check, clients)));
};
