/** Services that use secrets, on the fake ECS, Secrets Manager and IAM. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { executionPolicy, executionRoleOf } from "../../../../adapters/aws/accounts/roles.ts";
import { arnParts } from "../../../../adapters/aws/arns.ts";
import { accountDigest } from "../../../../adapters/shared/accounts/account-digest.ts";
import type { ServiceTemplate } from "../../../../core/domain/deploy/service-template.ts";
import { millisOf } from "../../../../core/domain/wire/instant.ts";
import type { SecretName } from "../../../../core/domain/wire/names.ts";
import { awsConfig } from "../../../fakes/aws/test-config.ts";
import { accountOf } from "../../../support/http/brands.ts";
import { type FakeAwsSecrets, openFakeAwsSecrets } from "../../../support/providers/aws-secrets.ts";

const acme = accountOf("acme");
const other = accountOf("other");
const KEY = "KEY" as SecretName;

let run: FakeAwsSecrets;
beforeEach(async () => {
  run = await openFakeAwsSecrets();
});
afterEach(() => run.close());

const set = async (value: string, owner = acme) => (await run.secretStore.set(owner, KEY, value))._unsafeUnwrap();
const using = (version: number, image?: string): ServiceTemplate => ({
  ...run.ecs.template("app", "acme", image === undefined ? {} : { image }),
  secrets: { TOKEN: { name: KEY, version, follows: true } },
});
const rollOut = async (template: ServiceTemplate, isFirst = true) =>
  run.ecs.rollOut(template, isFirst ? "absent" : await run.ecs.expectedOf("app"), { by: run.by });
const endOf = async (...args: Parameters<typeof rollOut>) => (await rollOut(...args)).at(-1);
const roleOf = (owner = acme) => run.iam.roles.get(executionRoleOf(awsConfig, owner));
const definition = () => run.ecs.ecs.definitions().at(-1);
const arnOf = (value: string) => [...run.secrets.secrets.values()].find((one) => one.value === value)?.arn ?? "";

test("the definition names the secret and the account's role, and contains no value", async () => {
  const { version } = await set("a value that is secret");
  expect(await endOf(using(version))).toMatchObject({ kind: "ready" });
  expect(definition()?.executionRoleArn).toBe(roleOf()?.arn);
  expect(definition()?.containerDefinitions[0].secrets).toEqual([
    { name: "TOKEN", valueFrom: arnOf("a value that is secret") },
  ]);
  expect(JSON.stringify(run.ecs.ecs.definitions())).not.toContain("a value that is secret");
});

test("a service without secrets starts with the shared role, and its account gets no role for secrets", async () => {
  expect(await endOf(run.ecs.template("app"))).toMatchObject({ kind: "ready" });
  expect(definition()?.executionRoleArn).toBe(run.ecs.config.shared.executionRoleArn);
  expect(definition()?.containerDefinitions[0]).not.toHaveProperty("secrets");
  expect(run.iam.roles.size).toBe(0);
});

test("the role of an account cannot read the secrets of another account", async () => {
  await set("mine");
  await set("theirs", other);
  const [mine, theirs] = [roleOf()?.arn ?? "", roleOf(other)?.arn ?? ""];
  expect(run.secrets.valueFor(mine, arnOf("mine"))).toEqual({ value: "mine" });
  expect(run.secrets.valueFor(theirs, arnOf("theirs"))).toEqual({ value: "theirs" });
  for (const [role, arn] of [
    [mine, arnOf("theirs")],
    [theirs, arnOf("mine")],
  ] as const)
    expect(run.secrets.valueFor(role, arn)).toMatchObject({ problem: expect.stringContaining("AccessDenied") });
});

test("the role's policy requires both the names and the tag of the account's secrets", () => {
  const policy = executionPolicy(arnParts(awsConfig.shared.permissionsBoundaryArn), awsConfig, acme);
  const { Statement: statements } = policy as { Statement: { Action: string[] }[] };
  expect(statements.filter(({ Action }) => Action.some((one) => one.startsWith("secretsmanager:")))).toEqual([
    {
      Sid: "OwnSecrets",
      Effect: "Allow",
      Action: ["secretsmanager:GetSecretValue"],
      Resource: expect.stringMatching(
        new RegExp(
          `^arn:aws:secretsmanager:eu-west-1:123456789012:secret:portside/[0-9a-f]{8}/${accountDigest(acme).slice(0, 20)}/\\*$`,
        ),
      ),
      Condition: { StringEquals: { "secretsmanager:ResourceTag/portside-owner": accountDigest(acme) } },
    },
  ]);
});

test("setting an unchanged value restores a policy that was removed by hand", async () => {
  const { version } = await set("one");
  roleOf()?.policies.clear();
  await set("one");
  expect(run.secrets.valueFor(roleOf()?.arn ?? "", arnOf("one"))).toEqual({ value: "one" });
  expect(version).toBe(1);
});

test("a rollout waits until a new role can read the secrets", async () => {
  await run.close();
  run = await openFakeAwsSecrets({ adverse: new Set(["secret_role_late"]) });
  const { version } = await set("one");
  const begun = millisOf(run.clock.now());
  const events = await rollOut(using(version));
  expect(events.at(-1)).toMatchObject({ kind: "ready" });
  expect(events).toContainEqual({
    kind: "progress",
    message: "ECS cannot read a secret yet; waiting for the permission",
  });
  expect(millisOf(run.clock.now()) - begun).toBeLessThan(3 * 60_000);
});

test("a rollout waits until ECS accepts a new role for secrets", async () => {
  await run.close();
  run = await openFakeAwsSecrets({ adverse: new Set(["role_late"]) });
  expect(await endOf(run.ecs.template("app"))).toMatchObject({ kind: "ready" });
  run.clock.pass(10 * 60_000);
  const { version } = await set("one");
  expect(await endOf(using(version), false)).toMatchObject({ kind: "ready" });
});

test("a value that was deleted in AWS fails the rollout within minutes, and the previous revision serves", async () => {
  await set("one");
  const { version } = await set("two");
  expect(await endOf(using(1))).toMatchObject({ kind: "ready" });
  const secret = [...run.secrets.secrets.values()].find(({ value }) => value === "two");
  if (secret !== undefined) secret.isScheduledForDeletion = true;
  const begun = millisOf(run.clock.now());
  expect(await endOf(using(version), false)).toMatchObject({ failure: { reason: "secret_unavailable" } });
  expect(run.logged()).toContain("Secrets Manager can't find the specified secret");
  const waited = millisOf(run.clock.now()) - begun;
  expect(waited).toBeGreaterThanOrEqual(2 * 60_000);
  expect(waited).toBeLessThan(4 * 60_000);
  expect((await run.ecs.serviceOf("app")).serving[0]?.template.secrets?.["TOKEN"]?.version).toBe(1);
});

test("a rollout with a missing version of a secret fails with a message and creates nothing, and the previous revision serves", async () => {
  const { version } = await set("one");
  expect(await endOf(using(version))).toMatchObject({ kind: "ready" });
  await set("two");
  const known = run.ecs.ecs.definitions().length;
  for (const remove of [false, true]) {
    const missing = remove ? 2 : 99;
    if (remove) (await run.secretStore.delete(acme, KEY, missing))._unsafeUnwrap();
    expect(await endOf(using(missing), false)).toEqual({
      kind: "failed",
      failure: {
        reason: "secret_unavailable",
        message: `Version ${missing} of the secret 'KEY' does not exist. Set it with 'portside secret set KEY', then deploy again.`,
      },
    });
  }
  expect(run.ecs.ecs.definitions()).toHaveLength(known);
  expect((await run.ecs.serviceOf("app")).serving[0]?.template.secrets?.["TOKEN"]?.version).toBe(version);
});

test("a service that exits fails the rollout without a wait for the secrets", async () => {
  const { version } = await set("one");
  const begun = millisOf(run.clock.now());
  expect(await endOf(using(version, run.ecs.image("exits:7")))).toMatchObject({ failure: { reason: "crashed" } });
  expect(millisOf(run.clock.now()) - begun).toBeLessThan(60_000);
});

test("the last lines of a failed start do not contain the value", async () => {
  const { version } = await set("leaving");
  const end = await endOf(using(version, run.ecs.image("exits:7")));
  expect(end).toMatchObject({ kind: "failed", failure: { reason: "crashed", logTail: ["[secret]"] } });
});

test("without access to the values, a failed start has no last lines", async () => {
  const { version } = await set("leaving");
  run.secrets.faults.clear();
  run.secrets.faults.inject({ nth: 1, method: "GetSecretValue", kind: "permission_denied" });
  const end = await endOf(using(version, run.ecs.image("exits:7")));
  expect(end).toMatchObject({ kind: "failed", failure: { reason: "crashed" } });
  expect(end).not.toHaveProperty("failure.logTail");
});

test("the last lines of a failed start are omitted if a version was deleted since, because they may contain its value", async () => {
  const { version } = await set("leaving");
  const other = (await run.secretStore.set(acme, "OTHER" as SecretName, "kept"))._unsafeUnwrap();
  const by = run.replica({
    lastLines: async (...args) => {
      (await run.secretStore.delete(acme, KEY, version))._unsafeUnwrap();
      return run.ecs.needs.lastLines(...args);
    },
  });
  const template = using(version, run.ecs.image("exits:7"));
  const secrets = {
    ...template.secrets,
    KEPT: { name: "OTHER" as SecretName, version: other.version, follows: true },
  };
  const events = await run.ecs.rollOut({ ...template, secrets }, "absent", { by });
  expect(events.at(-1)).toMatchObject({ kind: "failed", failure: { reason: "crashed" } });
  expect(events.at(-1)).not.toHaveProperty("failure.logTail");
  expect(JSON.stringify(events)).not.toContain("leaving");
});

test("a variable that refers to a secret can become a plain variable, and the reverse", async () => {
  const { version } = await set("one");
  const names = () => {
    const { environment, secrets = [] } = definition()?.containerDefinitions[0] ?? {};
    const has = (all: readonly { name: string }[]) => all.some(({ name }) => name === "TOKEN");
    return { plain: has(environment), secret: has(secrets) };
  };
  const plain = { ...run.ecs.template("app"), env: { TOKEN: "plain" } };
  expect(await endOf(plain)).toMatchObject({ kind: "ready" });
  expect(await endOf(using(version), false)).toMatchObject({ kind: "ready" });
  expect(names()).toEqual({ plain: false, secret: true });
  expect(await endOf(plain, false)).toMatchObject({ kind: "ready" });
  expect(names()).toEqual({ plain: true, secret: false });
  expect(await endOf(using(version), false)).toMatchObject({ kind: "ready" });
  expect(await endOf(run.ecs.template("app"), false)).toMatchObject({ kind: "ready" });
  expect(names()).toEqual({ plain: false, secret: false });
});

test("a reference replaces a variable of the same name that was added by hand", async () => {
  const { version } = await set("one");
  await endOf(run.ecs.template("app"));
  definition()?.containerDefinitions[0].environment.push({ name: "TOKEN", value: "manual" });
  expect(await endOf(using(version), false)).toMatchObject({ kind: "ready" });
  const { environment, secrets } = definition()?.containerDefinitions[0] ?? {};
  expect(environment.map(({ name }: { name: string }) => name)).not.toContain("TOKEN");
  expect(secrets).toEqual([{ name: "TOKEN", valueFrom: arnOf("one") }]);
});

test("an alias of the platform replaces a reference of the same name", async () => {
  const { version } = await set("one");
  expect(await endOf({ ...using(version), envAliases: { TOKEN: "PORT" } })).toMatchObject({ kind: "ready" });
  const { environment, secrets = [] } = definition()?.containerDefinitions[0] ?? {};
  expect(environment.filter(({ name }: { name: string }) => name === "TOKEN")).toHaveLength(1);
  expect(secrets).toEqual([]);
});

test("references that were added by hand survive a deploy", async () => {
  const { version } = await set("one");
  await endOf(using(version));
  definition()?.containerDefinitions[0].secrets.push({ name: "MANUAL", valueFrom: arnOf("one") });
  expect(await endOf(using(version), false)).toMatchObject({ kind: "ready" });
  const names = definition()?.containerDefinitions[0].secrets.map(({ name }: { name: string }) => name);
  expect(names).toEqual(["TOKEN", "MANUAL"]);
});
