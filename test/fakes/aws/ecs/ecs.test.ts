/** The fakes of ECS and the load balancer match the models and guides when the official clients call them. */
import {
  CreateServiceCommand,
  DeleteServiceCommand,
  DeregisterTaskDefinitionCommand,
  DescribeServicesCommand,
  DescribeTasksCommand,
  ListTasksCommand,
  RegisterTaskDefinitionCommand,
} from "@aws-sdk/client-ecs";
import {
  CreateRuleCommand,
  CreateTargetGroupCommand,
  DeleteTargetGroupCommand,
  DescribeTargetHealthCommand,
  ModifyRuleCommand,
} from "@aws-sdk/client-elastic-load-balancing-v2";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type FakeEcsPlatform, openFakeEcs } from "../../../support/providers/ecs-platform.ts";
import { eventually } from "../../../support/vitest/eventually.ts";
import { LISTENER } from "../elbv2/balancer.ts";
import { CLUSTER } from "./ecs.ts";

let world: FakeEcsPlatform;
beforeEach(async () => {
  world = await openFakeEcs();
});
afterEach(() => world.close());

const nameOfError = (work: Promise<unknown>) =>
  work.then(
    () => "none",
    (error: Error) => error.name,
  );

const groupOf = async (name: string): Promise<string> => {
  const input = { Name: name, Protocol: "HTTP" as const, Port: 8080, VpcId: "vpc-1", TargetType: "ip" as const };
  const { TargetGroups } = await world.balancer.client.send(new CreateTargetGroupCommand(input));
  return TargetGroups?.[0]?.TargetGroupArn ?? "";
};

const ruleOf = async (group: string, host: string, priority: number) => {
  const Conditions = [{ Field: "host-header", HostHeaderConfig: { Values: [host] } }];
  const Actions = [
    { Type: "forward" as const, ForwardConfig: { TargetGroups: [{ TargetGroupArn: group, Weight: 1 }] } },
  ];
  const input = { ListenerArn: LISTENER, Conditions, Actions, Priority: priority };
  return (await world.balancer.client.send(new CreateRuleCommand(input))).Rules?.[0]?.RuleArn ?? "";
};

const define = async (image: string, more: object = {}): Promise<string> => {
  const input = {
    family: "app",
    requiresCompatibilities: ["FARGATE" as const],
    networkMode: "awsvpc" as const,
    cpu: "1024",
    memory: "2048",
    containerDefinitions: [{ name: "app", image, portMappings: [{ containerPort: 8080 }] }],
    ...more,
  };
  const made = await world.ecs.client.send(new RegisterTaskDefinitionCommand(input));
  return made.taskDefinition?.taskDefinitionArn ?? "";
};

const serviceInput = (taskDefinition: string, targetGroupArn: string) => ({
  cluster: CLUSTER,
  serviceName: "one",
  clientToken: "token",
  taskDefinition,
  desiredCount: 1,
  loadBalancers: [{ targetGroupArn, containerName: "app", containerPort: 8080 }],
  networkConfiguration: { awsvpcConfiguration: { subnets: ["subnet-1"] } },
});

const described = async () => {
  const found = await world.ecs.client.send(new DescribeServicesCommand({ cluster: CLUSTER, services: ["one"] }));
  return found.services?.[0];
};

test("rejects a service with an unreferenced group, and refuses to delete a referenced one", async () => {
  const { client } = world.balancer;
  const group = await groupOf("g");
  expect(await groupOf("g")).toBe(group);
  const definition = await define(world.image());
  const create = () => world.ecs.client.send(new CreateServiceCommand(serviceInput(definition, group)));
  expect(await nameOfError(create())).toBe("InvalidParameterException");
  const rule = await ruleOf(group, "a.example.com", 5);
  expect(await nameOfError(ruleOf(group, "b.example.com", 5))).toBe("PriorityInUseException");
  const drop = () => client.send(new DeleteTargetGroupCommand({ TargetGroupArn: group }));
  expect(await nameOfError(drop())).toBe("ResourceInUseException");
  const gone = { TargetGroupArn: `${group}x`, Weight: 1 };
  const Actions = [{ Type: "forward" as const, ForwardConfig: { TargetGroups: [gone] } }];
  expect(await nameOfError(client.send(new ModifyRuleCommand({ RuleArn: rule, Actions })))).toBe(
    "TargetGroupNotFoundException",
  );
  await create();
  // The same token returns the same service; with another token, the name is taken.
  await create();
  expect(world.ecs.services()).toHaveLength(1);
  const other = { ...serviceInput(definition, group), clientToken: "other" };
  expect(await nameOfError(world.ecs.client.send(new CreateServiceCommand(other)))).toBe("InvalidParameterException");
});

test("starts a service, routes to it by host, and drains it", async () => {
  const group = await groupOf("g");
  await ruleOf(group, "a.apps.portside.test", 5);
  const url = `http://a.apps.portside.test:${world.balancer.port}/`;
  expect((await fetch(url)).status).toBe(503);
  await world.ecs.client.send(new CreateServiceCommand(serviceInput(await define(world.image()), group)));
  await eventually(async () =>
    expect((await described())?.deployments?.[0]).toMatchObject({
      status: "PRIMARY",
      rolloutState: "COMPLETED",
      runningCount: 1,
    }),
  );
  const health = async () => {
    const { TargetHealthDescriptions } = await world.balancer.client.send(
      new DescribeTargetHealthCommand({ TargetGroupArn: group }),
    );
    return TargetHealthDescriptions?.map(({ TargetHealth }) => TargetHealth?.State);
  };
  expect(await health()).toEqual(["healthy"]);
  expect(await (await fetch(url)).text()).toBe("pretended");
  expect((await fetch(url.replace("a.apps", "b.apps"))).status).toBe(404);
  const deleting = (force: boolean) =>
    world.ecs.client.send(new DeleteServiceCommand({ cluster: CLUSTER, service: "one", force }));
  expect(await nameOfError(deleting(false))).toBe("InvalidParameterException");
  expect((await deleting(true)).service?.status).toBe("DRAINING");
  expect([await health(), await health()]).toEqual([["draining"], []]);
  expect(await nameOfError(deleting(true))).toBe("ServiceNotFoundException");
});

test("with a circuit breaker, tries a failing task three times and reports why", async () => {
  const group = await groupOf("g");
  await ruleOf(group, "a.example.com", 5);
  const breaker = { deploymentConfiguration: { deploymentCircuitBreaker: { enable: true, rollback: false } } };
  const input = { ...serviceInput(await define(world.image("exits:3")), group), ...breaker };
  await world.ecs.client.send(new CreateServiceCommand(input));
  await eventually(async () =>
    expect((await described())?.deployments?.[0]).toMatchObject({ rolloutState: "FAILED", failedTasks: 3 }),
  );
  const list = new ListTasksCommand({ cluster: CLUSTER, serviceName: "one", desiredStatus: "STOPPED" });
  const { taskArns } = await world.ecs.client.send(list);
  const { tasks } = await world.ecs.client.send(new DescribeTasksCommand({ cluster: CLUSTER, tasks: taskArns }));
  expect(tasks).toHaveLength(3);
  expect(tasks?.[0]).toMatchObject({
    stopCode: "EssentialContainerExited",
    containers: [{ name: "app", exitCode: 3 }],
  });
});

test("rejects sizes that Fargate lacks, and inactive resources", async () => {
  expect(await nameOfError(define("image", { memory: "1024" }))).toBe("ClientException");
  expect(await nameOfError(define("image", { networkMode: "bridge" }))).toBe("ClientException");
  const group = await groupOf("g");
  await ruleOf(group, "a.example.com", 5);
  const definition = await define(world.image());
  await world.ecs.client.send(new DeregisterTaskDefinitionCommand({ taskDefinition: definition }));
  const create = world.ecs.client.send(new CreateServiceCommand(serviceInput(definition, group)));
  expect(await nameOfError(create)).toBe("ClientException");
});

test.each([
  [
    "a key twice",
    [
      ["a", "1"],
      ["a", "2"],
    ],
  ],
  ["a key with the reserved prefix aws:", [["aws:x", "1"]]],
  ["a character that no service accepts", [["a", "x*"]]],
  ["a value of 257 characters", [["a", "x".repeat(257)]]],
  ["51 tags", Array.from({ length: 51 }, (_, n) => [`k${n}`, ""])],
] as const)("ECS and the load balancer reject a tag with %s", async (_, tags) => {
  const pairs = tags as readonly (readonly [string, string])[];
  const atEcs = define(world.image(), { tags: pairs.map(([key, value]) => ({ key, value })) });
  expect(await nameOfError(atEcs)).toBe("InvalidParameterException");
  const Tags = pairs.map(([Key, Value]) => ({ Key, Value }));
  const input = { Name: "g", Protocol: "HTTP" as const, Port: 80, VpcId: "vpc-1", Tags };
  const atBalancer = world.balancer.client.send(new CreateTargetGroupCommand(input));
  expect(await nameOfError(atBalancer)).toBe("ValidationError");
});
