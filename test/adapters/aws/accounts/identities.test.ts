/**
 * Runtime identities on the fake IAM: one role per account, limited by the boundary, with permissions on its own
 * buckets.
 */

import { IAMClient } from "@aws-sdk/client-iam";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createIdentities, type Identities } from "../../../../adapters/aws/accounts/identities.ts";
import { ownerDigits } from "../../../../adapters/aws/accounts/owner-digits.ts";
import { clientSource } from "../../../../adapters/aws/clients.ts";
import { bucketName } from "../../../../adapters/aws/volumes/names.ts";
import { accountDigest } from "../../../../adapters/shared/accounts/account-digest.ts";
import { randomIds } from "../../../../adapters/shared/runtime/system.ts";
import type { VolumeName } from "../../../../core/domain/wire/names.ts";
import { type FakeIam, startFakeIam } from "../../../fakes/aws/iam/server.ts";
import { startMoto } from "../../../fakes/aws/moto.ts";
import { awsConfig } from "../../../fakes/aws/test-config.ts";
import { createLeapingClock } from "../../../support/clocks/leaping-clock.ts";
import { accountOf } from "../../../support/http/brands.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";
import { needs } from "../../../support/vitest/machine.ts";

let iam: FakeIam;
let identities: Identities;

const over = (client: IAMClient, clock = createLeapingClock()): Identities =>
  createIdentities(awsConfig, clientSource(awsConfig.region, { iam: client }), {
    clock,
    ids: randomIds,
    logger: silentLogger,
  });

beforeAll(async () => {
  iam = await startFakeIam();
});
afterAll(() => iam.close());
beforeEach(() => {
  iam.roles.clear();
  iam.faults.clear();
  Object.assign(iam, { looksUntilVisible: 0, maxRoles: 1000, meets: 0 });
  identities = over(iam.client);
});

const acme = accountOf("acme");
const ensured = async (owner = acme) => (await identities.ensure(owner))._unsafeUnwrap();
const only = () => [...iam.roles.values()][0];

test("creates an account's identity once, with a name that does not reveal the account", async () => {
  const owner = accountOf("someuser@example.com");
  const arn = await ensured(owner);
  expect(await ensured(owner)).toBe(arn);
  expect([iam.faults.count("iam.CreateRole"), iam.faults.count("iam.PutRolePolicy")]).toEqual([1, 1]);
  expect(arn).toBe(`arn:aws:iam::123456789012:role/portside-${ownerDigits(owner)}`);
  expect(only()?.arn).toBe(arn);
  expect(
    JSON.stringify([...iam.roles.values()].map((role) => ({ ...role, policies: [...role.policies] }))),
  ).not.toContain("someuser");
});

test("only tasks of this AWS account can assume it, within the boundary", async () => {
  await ensured();
  expect(only()?.boundary).toBe(awsConfig.shared.permissionsBoundaryArn);
  expect(only()?.trust).toEqual({
    Version: "2012-10-17",
    Statement: [
      {
        Effect: "Allow",
        Principal: { Service: "ecs-tasks.amazonaws.com" },
        Action: "sts:AssumeRole",
        Condition: {
          StringEquals: { "aws:SourceAccount": "123456789012" },
          ArnLike: { "aws:SourceArn": "arn:aws:ecs:eu-west-1:123456789012:*" },
        },
      },
    ],
  });
});

test("ECS may assume the role that reads secrets, within the boundary and with the account's tag", async () => {
  const arn = (await identities.ensureExecution(acme))._unsafeUnwrap();
  expect((await identities.ensureExecution(acme))._unsafeUnwrap()).toBe(arn);
  expect(iam.faults.count("iam.CreateRole")).toBe(1);
  expect(arn).toMatch(
    new RegExp(`^arn:aws:iam::123456789012:role/portside-execution-[0-9a-f]{8}-${ownerDigits(acme)}$`),
  );
  expect(only()).toMatchObject({
    arn,
    boundary: awsConfig.shared.permissionsBoundaryArn,
    tags: { "portside-owner": accountDigest(acme) },
    trust: {
      Statement: [
        {
          Principal: { Service: "ecs-tasks.amazonaws.com" },
          Condition: { StringEquals: { "aws:SourceAccount": "123456789012" } },
        },
      ],
    },
  });
  expect(only()?.name.length).toBeLessThanOrEqual(64);
  expect(identities.isNew(arn)).toBe(true);
});

test("grants read access to the account's own buckets only", async () => {
  await ensured();
  const policy = JSON.parse(only()?.policies.get("own-volumes") ?? "") as { Statement: { Resource: string }[] };
  const resources = policy.Statement.map(({ Resource }) => Resource);
  const mine = `arn:aws:s3:::ps-${ownerDigits(acme)}-`;
  expect(resources).toEqual([`${mine}*`, `${mine}*/*`]);
  const bucket = bucketName(acme, "data" as VolumeName, randomIds.id());
  expect(`arn:aws:s3:::${bucket}`.startsWith(mine)).toBe(true);
  expect((await identities.allow(bucket, await ensured()))._unsafeUnwrap()).toBe(true);
  expect((await identities.allow(bucket, await ensured(accountOf("other"))))._unsafeUnwrap()).toBe(false);
  expect((await identities.allow("another-bucket", await ensured()))._unsafeUnwrap()).toBe(false);
});

test("concurrent replicas get the same identity", async () => {
  const arns = await Promise.all([1, 2, 3].map(() => ensured()));
  expect([new Set(arns).size, iam.roles.size]).toEqual([1, 1]);
});

test("waits for an identity that another replica is creating", async () => {
  iam.meets = 1;
  await ensured();
  expect(only()?.policies.size).toBe(1);
});

test("counts a role as new for a minute after its creation, but never an existing role", async () => {
  const clock = createLeapingClock();
  identities = over(iam.client, clock);
  const role = await ensured();
  expect(identities.isNew(role)).toBe(true);
  clock.pass(59_000);
  expect(identities.isNew(role)).toBe(true);
  clock.pass(2000);
  expect(identities.isNew(role)).toBe(false);
  identities = over(iam.client);
  expect(identities.isNew(await ensured())).toBe(false);
});

test("restores lost or outdated permissions", async () => {
  await ensured();
  only()?.policies.clear();
  await ensured();
  only()?.policies.set("own-volumes", '{"Version":"2012-10-17","Statement":[]}');
  await ensured();
  expect(only()?.policies.get("own-volumes")).toContain("s3:GetObject");
});

test("waits for an identity that appears late, and fails if it never appears or exceeds the quota", async () => {
  iam.looksUntilVisible = 5;
  await ensured();
  iam.looksUntilVisible = 1000;
  expect((await identities.ensure(accountOf("late")))._unsafeUnwrapErr().message).toContain("not available yet");
  iam.maxRoles = iam.roles.size;
  expect((await identities.ensure(accountOf("full")))._unsafeUnwrapErr().message).toContain("IAM role quota");
});

test.each(["unavailable", "resource_exhausted", "reply_lost"] as const)("retries %s at any call", async (kind) => {
  for (let nth = 1; nth <= 3; nth++) {
    iam.roles.clear();
    iam.faults.clear();
    iam.faults.inject({ nth, kind });
    await ensured();
    expect([iam.roles.size, only()?.policies.size], `${kind} at call ${nth}`).toEqual([1, 1]);
  }
});

test("fails with `unavailable` if any call is denied, and a repeat completes the identity", async () => {
  for (let nth = 1; nth <= 3; nth++) {
    iam.roles.clear();
    iam.faults.clear();
    iam.faults.inject({ nth, kind: "permission_denied" });
    expect((await identities.ensure(acme))._unsafeUnwrapErr()).toMatchObject({ kind: "unavailable" });
    await ensured();
    expect(only()?.policies.size).toBe(1);
  }
});

test("works on moto's IAM, which is independent of the fake", async (context) => {
  needs(context, "moto");
  const moto = await startMoto();
  const credentials = { accessKeyId: "AKIAFAKE", secretAccessKey: "secret" };
  const client = new IAMClient({ endpoint: moto.endpoint, region: awsConfig.region, credentials, maxAttempts: 1 });
  identities = over(client);
  const arn = await ensured();
  expect(await ensured()).toBe(arn);
  client.destroy();
  moto.close();
});
