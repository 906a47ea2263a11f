/**
 * Sends the platform's AWS calls to moto, which is independent of our fakes. moto's ECS starts no tasks and its load
 * balancer checks none, so our fakes test whole rollouts. This file tests each call of a rollout and its response.
 */

import { inspect } from "node:util";
import { ApplicationAutoScalingClient } from "@aws-sdk/client-application-auto-scaling";
import { CreateRepositoryCommand, ECRClient } from "@aws-sdk/client-ecr";
import { CreateClusterCommand, ECSClient } from "@aws-sdk/client-ecs";
import {
  CreateListenerCommand,
  CreateLoadBalancerCommand,
  ElasticLoadBalancingV2Client,
} from "@aws-sdk/client-elastic-load-balancing-v2";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { expect, test } from "vitest";
import { createIdentities } from "../../../../adapters/aws/accounts/identities.ts";
import { awsCalls } from "../../../../adapters/aws/call-policy.ts";
import { clientSource } from "../../../../adapters/aws/clients.ts";
import { createBalancer } from "../../../../adapters/aws/deploy/balancer.ts";
import { createBuilds } from "../../../../adapters/aws/deploy/build/builds.ts";
import { ecsServices } from "../../../../adapters/aws/deploy/ecs-calls.ts";
import { ecsFault } from "../../../../adapters/aws/deploy/ecs-faults.ts";
import { createRecords } from "../../../../adapters/aws/deploy/records/records.ts";
import { retire } from "../../../../adapters/aws/deploy/retire.ts";
import { createRevision } from "../../../../adapters/aws/deploy/rollout/create-revision.ts";
import { createScaling } from "../../../../adapters/aws/deploy/rollout/scaling.ts";
import { stateBucket } from "../../../../adapters/aws/state/state-bucket.ts";
import { createSystemClock, randomIds } from "../../../../adapters/shared/runtime/system.ts";
import type { Result } from "../../../../core/result.ts";
import { templateFor } from "../../../contracts/support.ts";
import { sharedResources } from "../../../fakes/aws/ecs/world.ts";
import { startMoto } from "../../../fakes/aws/moto.ts";
import { clientOptions } from "../../../fakes/aws/protocols.ts";
import { awsConfig, REGION } from "../../../fakes/aws/test-config.ts";
import { accountOf, nameOf } from "../../../support/http/brands.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";
import { needs } from "../../../support/vitest/machine.ts";

const open = async () => {
  const moto = await startMoto();
  const options = clientOptions(moto.endpoint);
  const given = {
    ecs: new ECSClient(options),
    balancer: new ElasticLoadBalancingV2Client(options),
    scaling: new ApplicationAutoScalingClient(options),
    registry: new ECRClient(options),
    s3: new S3Client({ ...options, forcePathStyle: true }),
  };
  const xml = await moto.ec2("DescribeSubnets");
  const subnets = [...xml.matchAll(/<subnetId>(.*?)<\/subnetId>/g)].map(([, id]) => id as string);
  const vpc = /<vpcId>(.*?)<\/vpcId>/.exec(xml)?.[1] ?? "";
  const made = await given.balancer.send(
    new CreateLoadBalancerCommand({ Name: "portside", Subnets: subnets.slice(0, 2) }),
  );
  const group = /<groupId>(.*?)<\/groupId>/.exec(await moto.ec2("DescribeSecurityGroups"))?.[1] ?? "";
  const LoadBalancerArn = made.LoadBalancers?.[0]?.LoadBalancerArn;
  const DefaultActions = [{ Type: "fixed-response" as const, FixedResponseConfig: { StatusCode: "404" } }];
  const listener = await given.balancer.send(
    new CreateListenerCommand({ LoadBalancerArn, Port: 80, Protocol: "HTTP", DefaultActions }),
  );
  await given.ecs.send(new CreateClusterCommand({ clusterName: "portside" }));
  await given.registry.send(new CreateRepositoryCommand({ repositoryName: "portside" }));
  const CreateBucketConfiguration = { LocationConstraint: REGION } as const;
  await given.s3.send(new CreateBucketCommand({ Bucket: "state", CreateBucketConfiguration }));
  const listenerArn = listener.Listeners?.[0]?.ListenerArn ?? "";
  const shared = {
    ...sharedResources(80),
    vpc,
    subnets: subnets.slice(0, 2),
    listenerArn,
    serviceSecurityGroup: group,
  };
  const deps = { clock: createSystemClock(), ids: randomIds, logger: silentLogger };
  const clients = clientSource(REGION, given);
  const call = awsCalls(deps, ecsFault);
  return {
    ...deps,
    identities: createIdentities({ ...awsConfig, shared }, clients, deps),
    location: { region: REGION, shared },
    services: ecsServices(shared.cluster, clients, call),
    balancer: createBalancer(shared.listenerArn, clients, call),
    scaling: createScaling(shared, clients, call),
    bucket: stateBucket("state", clients, awsCalls(deps)),
    builds: createBuilds(shared, clients, awsCalls(deps)),
    close: () => {
      for (const client of Object.values(given)) client.destroy();
      moto.close();
    },
  };
};

/** Returns the value of a result, or throws its error. */
const good = <T>(result: Result<T, unknown>): T => {
  if (result.isErr()) throw new Error(`moto refused: ${inspect(result.error, { depth: 4 })}`);
  return result.value;
};

test("moto accepts every call in the life of a revision", { timeout: 120_000 }, async (context) => {
  needs(context, "moto");
  const aws = await open();
  const { balancer, services, scaling, location } = aws;
  const owner = accountOf("acme");
  const template = templateFor(owner, nameOf("app"), "image");
  const wanted = {
    template,
    taskRole: "arn:aws:iam::123456789012:role/a",
    executionRole: "arn:aws:iam::123456789012:role/b",
    secrets: new Map(),
    fileSystems: new Map(),
    listenDeadlineMs: 60_000,
  };
  const make = async (revision: string, former?: string) => {
    const over = former === undefined ? undefined : { id: former, template };
    const write = `write-of-${revision}`;
    return good(await createRevision(aws, { ...wanted, revision, write, former: over }, {}));
  };
  const one = await make("app-000000000001");
  const host = "app.apps.portside.test";
  good(await balancer.createRule({ host, group: one.group, priority: 5, tags: [["a", "b"]] }));
  const taken = await balancer.createRule({ host, group: one.group, priority: 5, tags: [] });
  expect(taken._unsafeUnwrapErr()).toMatchObject({ kind: "state", code: "exists" });
  good(await scaling.set("app-000000000001", one.group, template));
  // A second revision, on top of the existing one.
  const two = await make("app-000000000002", "app-000000000001");
  const front = good(await balancer.rules()).find(({ hosts }) => hosts.includes(host));
  expect(front?.targets).toEqual([{ group: one.group, weight: 1 }]);
  const targets = [
    { group: two.group, weight: 1 },
    { group: one.group, weight: 0 },
  ];
  good(await balancer.forward(front?.arn ?? "", targets));
  expect(good(await balancer.rules()).find(({ arn }) => arn === front?.arn)?.targets).toEqual(targets);
  // A group that a rule references stays.
  expect((await balancer.deleteGroup(two.group))._unsafeUnwrapErr()).toMatchObject({ kind: "state", code: "changed" });
  expect(good(await retire(aws, { owner, revision: "app-000000000002", host, drain: 0 }))).toBe("serves");
  expect(good(await services.find("app-000000000001"))?.serviceName).toBe("app-000000000001");
  const [first] = good(await balancer.rules()).filter(({ arn }) => arn === one.placeholderRule);
  expect(first?.targets).toEqual([{ group: one.group, weight: 1 }]);
  // Removes the target only once. For a missing target, moto returns ValidationException instead of the model's
  // ObjectNotFoundException.
  good(await scaling.remove("app-000000000001"));
  good(await services.remove("app-000000000001"));
  good(await services.remove("app-never-was"));
  good(await balancer.deleteRule(one.placeholderRule));
  expect(location.shared.listenerArn).toContain(":listener/app/portside/");
  aws.close();
});

test("moto accepts conditional writes, and lists the objects", { timeout: 60_000 }, async (context) => {
  needs(context, "moto");
  const { bucket, builds, close } = await open();
  const made = good(await bucket.put("services/a.json", "1", "absent", "portside-state=freed"));
  expect((await bucket.put("services/a.json", "2", "absent", ""))._unsafeUnwrapErr()).toMatchObject({
    code: "changed",
  });
  good(await bucket.put("services/a.json", "3", { etag: made }, ""));
  expect((await bucket.put("services/a.json", "4", { etag: made }, ""))._unsafeUnwrapErr()).toMatchObject({
    code: "changed",
  });
  expect(good(await bucket.get("services/a.json"))?.text).toBe("3");
  expect(good(await bucket.get("services/b.json"))).toBeNull();
  expect(good(await bucket.list("services/")).map(({ key }) => key)).toEqual(["services/a.json"]);
  const records = createRecords(bucket);
  expect(good(await records.read(nameOf("a")))).toEqual({ kind: "foreign" });
  const { signal } = new AbortController();
  expect(good(await builds.repository(signal))).toMatch(/\.dkr\.ecr\..*\/portside$/);
  expect(good(await builds.imageExists("no-such-tag", signal))).toBe(false);
  close();
});
