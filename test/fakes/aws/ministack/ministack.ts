/**
 * ministack (https://pypi.org/project/ministack), an independent implementation of AWS that runs containers in Docker.
 * Each start creates an account with the stack of `docs/providers/aws-template.yaml`, and a user with only the rights
 * of the stack's outputs. `bridges.py` fills gaps of ministack, and `gaps.ts` lists the others.
 */
import { execFileSync, spawn } from "node:child_process";
import { cpSync, globSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CloudFormationClient, CreateStackCommand, DescribeStacksCommand } from "@aws-sdk/client-cloudformation";
import { ECSClient, ListServicesCommand } from "@aws-sdk/client-ecs";
import {
  DescribeRulesCommand,
  DescribeTargetGroupsCommand,
  ElasticLoadBalancingV2Client,
} from "@aws-sdk/client-elastic-load-balancing-v2";
import {
  AttachUserPolicyCommand,
  CreateAccessKeyCommand,
  CreateUserCommand,
  DetachUserPolicyCommand,
  IAMClient,
} from "@aws-sdk/client-iam";
import { ListSchedulesCommand, SchedulerClient } from "@aws-sdk/client-scheduler";
import { folderWith } from "../../../support/archives/folders.ts";
import { startOnFreePort } from "../../../support/http/free-port.ts";
import { awsJudges } from "../../../support/vitest/machine.ts";
import { clientOptions } from "../protocols.ts";
import { startFakeScaling } from "../scaling/scaling.ts";
import { REGION } from "../test-config.ts";
import { resolveLocally } from "../wildcard-dns.ts";

const DOMAIN = "apps.portside.test";
const StackName = "portside";
const UserName = "portside";
/** The account's root user, with all rights; clientOptions has the same keys. */
const ROOT = { AWS_ACCESS_KEY_ID: "fake", AWS_SECRET_ACCESS_KEY: "fake" };

const docker = (...args: readonly string[]): string =>
  execFileSync("docker", args, { encoding: "utf8", stdio: "pipe" });

const makeBuildImage = (): void => {
  using folder = folderWith();
  cpSync(join(import.meta.dirname, "build-image"), folder.path, { recursive: true });
  cpSync(execFileSync("sh", ["-c", "command -v docker"], { encoding: "utf8" }).trim(), join(folder.path, "docker-cli"));
  const [packages = ""] = globSync(join(awsJudges, "aws-cli/lib/python3*/site-packages"));
  const tags = ["public.ecr.aws/codebuild/local-builds:latest", "aws/codebuild/standard:8.0"];
  docker("build", "--build-arg", `AWS_CLI=${packages}`, ...tags.flatMap((tag) => ["--tag", tag]), folder.path);
};

const startServer = () =>
  startOnFreePort(
    (port) =>
      spawn(join(awsJudges, "ministack/bin/python"), [join(import.meta.dirname, "bridges.py")], {
        stdio: "ignore",
        env: {
          ...ROOT,
          PATH: `${dirname(process.execPath)}:${process.env["PATH"]}`,
          GATEWAY_PORT: String(port),
          MINISTACK_HOSTNAME: "portside",
          MINISTACK_REGION: REGION,
          MINISTACK_CODEBUILD_EXECUTE: "1",
          // Checks signatures and permissions.
          AUTH: "true",
          IOT_MTLS_ENABLED: "0",
          SFTP_ENABLED: "0",
          PORTSIDE_DOMAIN: DOMAIN,
          // Lambda's runtime includes the SDK, and AWS resolves the domain.
          NODE_PATH: resolve("node_modules"),
          NODE_OPTIONS: `--import=${new URL("function-dns.ts", import.meta.url).href}`,
        },
      }),
    "/_ministack/health",
  );

/** Creates the stack. Returns its outputs. */
const createStack = async (stacks: CloudFormationClient, domain: string): Promise<Record<string, string>> => {
  const TemplateBody = readFileSync("docs/providers/aws-template.yaml", "utf8");
  const Parameters = [{ ParameterKey: "Domain", ParameterValue: domain }];
  const Capabilities = ["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"] as const;
  await stacks.send(new CreateStackCommand({ StackName, TemplateBody, Parameters, Capabilities: [...Capabilities] }));
  for (;;) {
    const { Stacks: [stack] = [] } = await stacks.send(new DescribeStacksCommand({ StackName }));
    if (stack?.StackStatus === "CREATE_COMPLETE")
      return Object.fromEntries(
        (stack.Outputs ?? []).map(({ OutputKey = "", OutputValue = "" }) => [OutputKey, OutputValue]),
      );
    if (stack?.StackStatus !== "CREATE_IN_PROGRESS") throw new Error(`the stack is ${stack?.StackStatus}`);
    await sleep(100);
  }
};

export const startMinistack = async () => {
  makeBuildImage();
  const { child, url } = await startServer();
  const { port } = new URL(url);
  const scaling = await startFakeScaling();
  const endDns = resolveLocally(DOMAIN);
  const options = clientOptions(url);
  const iam = new IAMClient(options);
  const outputs = await createStack(new CloudFormationClient(options), `${DOMAIN}:${port}`);
  await iam.send(new CreateUserCommand({ UserName }));
  const policies = ["platformPolicyArn", "platformStoragePolicyArn"].map((output) => outputs[output]);
  for (const PolicyArn of policies) await iam.send(new AttachUserPolicyCommand({ UserName, PolicyArn }));
  const { AccessKey } = await iam.send(new CreateAccessKeyCommand({ UserName }));

  /** The remaining services, target groups, rules and schedules, without the load balancer's default rule. */
  const remains = async () => {
    const balancer = new ElasticLoadBalancingV2Client(options);
    const { serviceArns } = await new ECSClient(options).send(new ListServicesCommand({ cluster: outputs["cluster"] }));
    const { TargetGroups } = await balancer.send(new DescribeTargetGroupsCommand({}));
    const { Rules } = await balancer.send(new DescribeRulesCommand({ ListenerArn: outputs["listenerArn"] }));
    const { Schedules } = await new SchedulerClient(options).send(new ListSchedulesCommand({}));
    const left: readonly unknown[][] = [
      serviceArns ?? [],
      TargetGroups ?? [],
      Rules?.filter(({ IsDefault }) => !IsDefault) ?? [],
      Schedules ?? [],
    ];
    return left.flat();
  };

  return {
    /** For AWS SDK clients that act as the platform's user. */
    environment: {
      AWS_ENDPOINT_URL: url,
      // ministack has no Application Auto Scaling.
      AWS_ENDPOINT_URL_APPLICATION_AUTO_SCALING: scaling.endpoint,
      AWS_ACCESS_KEY_ID: AccessKey?.AccessKeyId ?? "",
      AWS_SECRET_ACCESS_KEY: AccessKey?.SecretAccessKey ?? "",
    },
    remains,
    /** Revokes the platform's permissions on volumes. */
    denyStorage: () => iam.send(new DetachUserPolicyCommand({ UserName, PolicyArn: policies[1] })),
    close: async () => {
      child.kill("SIGKILL");
      endDns();
      await scaling.close();
      const containers = docker("ps", "--all", "--quiet", "--filter", `label=ministack.instance=portside:${port}`);
      for (const id of containers.split("\n").filter(Boolean)) docker("rm", "--force", id);
      const images = docker("images", "--format", "{{.Repository}}:{{.Tag}}", `127.0.0.1:${port}/*`);
      for (const image of images.split("\n").filter((one) => one !== "" && !one.endsWith(":<none>")))
        docker("rmi", image);
    },
  };
};
