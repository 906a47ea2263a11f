/**
 * Checks that the main shared resources exist, with one inexpensive call each. If a resource is missing, the finding
 * states how to create it.
 */
import { type Finding, fail, pass, warn } from "../../core/domain/wire/check.ts";
import { nameOf } from "./call-policy.ts";
import { type ClientSource, sendCommand } from "./clients.ts";
import type { SharedResources } from "./config.ts";
import { awsFault } from "./errors.ts";

export interface CheckResourcesOptions {
  readonly region: string;
  readonly resources: SharedResources;
  readonly athenaWorkgroup: string | undefined;
}

interface ResourceCheck {
  /** The configuration key. */
  readonly name: keyof SharedResources | "athenaWorkgroup";
  readonly value: string;
  /** How to create the resource. */
  readonly create: string;
  /** Returns false if the resource does not exist or is unusable. Throws the SDK's errors. */
  readonly exists: () => Promise<boolean>;
}

const workgroupCheck = (value: string, clients: ClientSource): ResourceCheck => ({
  name: "athenaWorkgroup",
  value,
  create: "deploy the stack with Sql=true",
  exists: async () => {
    const { WorkGroup } = await sendCommand(clients, "athena", "GetWorkGroupCommand", { WorkGroup: value });
    return WorkGroup?.State !== "DISABLED";
  },
});

const roles = ["executionRoleArn", "filesRoleArn", "schedulerRoleArn"] as const;

const checksOf = (
  { region, resources, athenaWorkgroup }: CheckResourcesOptions,
  clients: ClientSource,
): readonly ResourceCheck[] => {
  const { cluster, listenerArn, moreListenerArns = [], stateBucket, buildProject, repository, logGroup } = resources;
  return [
    {
      name: "cluster",
      value: cluster,
      create: `aws ecs create-cluster --cluster-name ${cluster} --capacity-providers FARGATE --region ${region}`,
      exists: async () => {
        const { clusters = [] } = await sendCommand(clients, "ecs", "DescribeClustersCommand", { clusters: [cluster] });
        // Deleted clusters stay visible for a while.
        return clusters.some(({ status }) => status === "ACTIVE");
      },
    },
    {
      name: "listenerArn",
      value: [listenerArn, ...moreListenerArns].join(", "),
      create: "aws elbv2 create-listener, configured like `Listener` in docs/providers/aws-template.yaml",
      exists: async () => {
        const input = { ListenerArns: [listenerArn, ...moreListenerArns] };
        const { Listeners = [] } = await sendCommand(clients, "balancer", "DescribeListenersCommand", input);
        return Listeners.length === input.ListenerArns.length;
      },
    },
    {
      name: "stateBucket",
      value: stateBucket,
      create: `aws s3 mb s3://${stateBucket} --region ${region} (the records of deployments and volumes in the deleted bucket are lost)`,
      exists: async () => {
        await sendCommand(clients, "s3", "HeadBucketCommand", { Bucket: stateBucket });
        return true;
      },
    },
    {
      name: "buildProject",
      value: buildProject,
      create: "aws codebuild create-project, configured like `BuildProject` in docs/providers/aws-template.yaml",
      exists: async () => {
        const { projects = [] } = await sendCommand(clients, "builds", "BatchGetProjectsCommand", {
          names: [buildProject],
        });
        return projects.length > 0;
      },
    },
    {
      name: "repository",
      value: repository,
      create: `aws ecr create-repository --repository-name ${repository} --region ${region}`,
      exists: async () => {
        const input = { repositoryNames: [repository] };
        const { repositories = [] } = await sendCommand(clients, "registry", "DescribeRepositoriesCommand", input);
        return repositories.length > 0;
      },
    },
    {
      name: "logGroup",
      value: logGroup,
      create: `aws logs create-log-group --log-group-name ${logGroup} --region ${region}`,
      exists: async () => {
        // No entry has this time, so the call scans nothing.
        const input = { logGroupName: logGroup, startTime: 0, endTime: 1, limit: 1 };
        await sendCommand(clients, "logs", "FilterLogEventsCommand", input);
        return true;
      },
    },
    ...roles.map((name) => ({
      name,
      value: resources[name],
      create: "aws iam create-role, configured as in docs/providers/aws-template.yaml",
      exists: async () => {
        // A path may precede the role's name.
        const RoleName = resources[name].split("/").at(-1);
        return (await sendCommand(clients, "iam", "GetRoleCommand", { RoleName })).Role !== undefined;
      },
    })),
    ...(athenaWorkgroup === undefined ? [] : [workgroupCheck(athenaWorkgroup, clients)]),
  ];
};

const findingOf = async ({ name, value, create, exists }: ResourceCheck): Promise<Finding> => {
  const what = `${name} ${value}`;
  const setting =
    name === "athenaWorkgroup"
      ? "workgroup with --aws-athena-workgroup"
      : `'${name}' in the section 'aws' of portside.config.json`;
  const fix = `${create}; or set a different ${setting}`;
  try {
    return (await exists()) ? pass(what, "exists") : fail(what, "does not exist or is unusable", fix);
  } catch (error) {
    const fault = awsFault(error);
    if (fault?.kind === "state") return fail(what, `does not exist (${nameOf(error)})`, fix);
    return warn(what, `the check failed: ${(error as Error).message} (${nameOf(error)})`);
  }
};

/** Returns one finding per checked resource, in a fixed order. The checks run concurrently. */
export const checkResources = (options: CheckResourcesOptions, clients: ClientSource): Promise<Finding[]> =>
  Promise.all(checksOf(options, clients).map(findingOf));
