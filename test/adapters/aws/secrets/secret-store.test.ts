/** Secrets on the fake Secrets Manager: concurrent writes, faults, leftovers and deletions. */
import { inspect } from "node:util";
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { digestKeyId, secretIdOf } from "../../../../adapters/aws/secrets/names.ts";
import { ABANDONED_MS, renderIndex } from "../../../../adapters/aws/secrets/secret-index.ts";
import { accountDigest } from "../../../../adapters/shared/accounts/account-digest.ts";
import type { SecretName } from "../../../../core/domain/wire/names.ts";
import { AwsError } from "../../../fakes/aws/server.ts";
import { awsConfig } from "../../../fakes/aws/test-config.ts";
import type { FaultKind } from "../../../fakes/faults.ts";
import { accountOf } from "../../../support/http/brands.ts";
import { type FakeAwsSecrets, openFakeAwsSecrets } from "../../../support/providers/aws-secrets.ts";
import { MATRIX_MS } from "../../../support/vitest/runs.ts";

const acme = accountOf("acme");
const other = accountOf("other");
const KEY = "KEY" as SecretName;
const VALUE = "correct horse battery staple";
const DIGEST_KEY = digestKeyId(awsConfig);
const INDEX = `secrets/${accountDigest(acme)}.json`;

let run: FakeAwsSecrets;
beforeEach(async () => {
  run = await openFakeAwsSecrets();
});
afterEach(() => run.close());

const set = async (value: string, name = KEY) => (await run.secretStore.set(acme, name, value))._unsafeUnwrap();
const remove = async (version?: number) => (await run.secretStore.delete(acme, KEY, version))._unsafeUnwrap();
const listed = async () => (await run.secretStore.list(acme))._unsafeUnwrap();
const numbers = async () => (await listed()).map(({ name, versions }) => [name, ...versions.map((one) => one.version)]);
/** The names in Secrets Manager, without the key of the digests. */
const stored = () => [...run.secrets.secrets.keys()].filter((id) => id !== DIGEST_KEY).sort();
const idOf = (version: number, name = KEY, owner = acme) => secretIdOf(awsConfig, owner, name, version);
const indexText = () => String(run.ecs.state.objects.get(INDEX)?.bytes);

test("the name of a secret is valid, and differs for each account, installation, name and version", () => {
  const installation = { ...awsConfig, shared: { ...awsConfig.shared, stateBucket: "another" } };
  const ids = [
    idOf(1),
    idOf(2),
    idOf(1, "key" as SecretName),
    idOf(1, KEY, other),
    secretIdOf(installation, acme, KEY, 1),
  ];
  expect(new Set(ids.map((id) => id.toLowerCase())).size).toBe(ids.length);
  expect(idOf(999_999, "a".repeat(63) as SecretName)).toMatch(/^portside\/[\w/.]{1,500}$/);
});

test("pending redeploys of an account with special characters are visible to another process, and end there", async () => {
  const owner = accountOf("team:a/b@c|d+e-1");
  const { version } = (await run.secretStore.set(owner, KEY, VALUE))._unsafeUnwrap();
  const pending = { owner, name: KEY, version };
  (await run.secretStore.beginRedeploys(pending))._unsafeUnwrap();
  const next = run.otherSecretStore();
  expect((await next.pendingRedeploys())._unsafeUnwrap()).toEqual([pending]);
  (await next.endRedeploys(pending))._unsafeUnwrap();
  expect((await run.otherSecretStore().pendingRedeploys())._unsafeUnwrap()).toEqual([]);
});

test("an object with a different name does not hide the pending redeploys", async () => {
  const pending = { owner: acme, name: KEY, version: 1 };
  (await run.secretStore.beginRedeploys(pending))._unsafeUnwrap();
  const Bucket = awsConfig.shared.stateBucket;
  for (const name of ["%/KEY/1", "%E0/KEY/1", "%FF/KEY/1", "acme/KEY/0", "acme/KEY", "a%20b/KEY/1", "acme/KEY/2/3"])
    await run.ecs.state.client.send(new PutObjectCommand({ Bucket, Key: `secret-redeploys/${name}`, Body: "{}" }));
  expect((await run.secretStore.pendingRedeploys())._unsafeUnwrap()).toEqual([pending]);
});

test("each version is a secret with the account's tag, and no list contains a value", async () => {
  await set(VALUE);
  await set("two");
  expect(stored()).toEqual([idOf(1), idOf(2)]);
  expect(run.secrets.secrets.get(idOf(1))).toMatchObject({
    value: VALUE,
    tags: { "portside-owner": accountDigest(acme) },
  });
  for (const { bytes } of run.ecs.state.objects.values()) expect(String(bytes)).not.toContain(VALUE);
});

test("the key of the digests is not in the state bucket, and is not readable by any account", async () => {
  await set(VALUE);
  const key = run.secrets.secrets.get(DIGEST_KEY);
  expect(key?.value).toMatch(/^[0-9a-f]{64}$/);
  expect(key?.tags).toEqual({});
  for (const { bytes } of run.ecs.state.objects.values()) expect(String(bytes)).not.toContain(key?.value);
});

test("the versions that two processes set concurrently are all listed, with the same key for their digests", async () => {
  const stores = [run.secretStore, run.otherSecretStore()];
  const values = ["one", "two", "three", "four"];
  const written = await Promise.all(
    values.map(async (value, at) => (await stores[at % 2]?.set(acme, KEY, value))?._unsafeUnwrap()),
  );
  const [secret] = await listed();
  expect(secret?.versions.map(({ version }) => version)).toEqual([4, 3, 2, 1]);
  expect(new Set(secret?.versions.map(({ digest }) => digest))).toEqual(new Set(written.map((one) => one?.digest)));
  const first = (await run.otherSecretStore().set(acme, "OTHER" as SecretName, "one"))._unsafeUnwrap();
  expect(await set("one", "OTHER" as SecretName)).toEqual(first);
});

test("secrets may have the names of properties that every object has", async () => {
  const names = ["constructor", "toString", "hasOwnProperty"] as SecretName[];
  for (const name of names) expect((await set("one", name)).version).toBe(1);
  expect(await numbers()).toEqual([...names].sort().map((name) => [name, 1]));
});

test("a deletion deletes the values without a recovery window, and a number is never used again", async () => {
  await set("one");
  await set("two");
  await remove(1);
  expect(stored()).toEqual([idOf(2)]);
  await remove();
  expect(stored()).toEqual([]);
  expect((await set("three")).version).toBe(3);
});

describe("values", () => {
  const pinned = (...versions: number[]) =>
    Object.fromEntries(versions.map((version) => [`V${version}`, { name: KEY, version, follows: false }]));

  test("returns each pinned value once", async () => {
    await set("one");
    await set("two");
    const pins = { ...pinned(1, 2), AGAIN: { name: KEY, version: 2, follows: false } };
    expect((await run.secretStore.values(acme, pins))._unsafeUnwrap().toSorted()).toEqual(["one", "two"]);
  });

  test("fails if a version is not listed, and returns no part of the values", async () => {
    await set("one");
    await set("two");
    await remove(2);
    for (const missing of [2, 3]) {
      const error = (await run.secretStore.values(acme, pinned(1, missing)))._unsafeUnwrapErr();
      expect(error).toMatchObject({
        kind: "unavailable",
        message: "A version of a secret was deleted. Set the secret, then deploy again.",
      });
    }
    // Another account has no such version.
    expect((await run.secretStore.values(other, pinned(1))).isErr()).toBe(true);
  });

  test("fails if Secrets Manager no longer has a listed version", async () => {
    await set("one");
    await set("two");
    const secret = run.secrets.secrets.get(idOf(2));
    if (secret !== undefined) secret.isScheduledForDeletion = true;
    const error = (await run.secretStore.values(acme, pinned(1, 2)))._unsafeUnwrapErr();
    expect(error.kind).toBe("unavailable");
    expect(error.message).toContain("rejected the request");
  });
});

test("a failed `set` leaves a secret that later changes delete after ten minutes, but not before", async () => {
  await set("one");
  run.ecs.state.faults.clear();
  // The first write reserves the number, the second lists the version.
  run.ecs.state.faults.inject({ nth: 2, method: "PutObject", kind: "permission_denied" });
  expect((await run.secretStore.set(acme, KEY, "lost")).isErr()).toBe(true);
  run.ecs.state.faults.clear();
  expect(await numbers()).toEqual([[KEY, 1]]);
  expect(stored()).toEqual([idOf(1), idOf(2)]);
  expect((await set("three")).version).toBe(3);
  expect(stored()).toContain(idOf(2));
  expect((await run.secretStore.delete(acme, KEY, 2))._unsafeUnwrapErr().kind).toBe("not_found");
  run.clock.pass(ABANDONED_MS);
  await set("one", "OTHER" as SecretName);
  expect(stored()).toEqual([idOf(1), idOf(3), idOf(1, "OTHER" as SecretName)].sort());
  expect(indexText()).toContain('"leftovers":[]');
});

test("a `set` fails and leaves no secret if another call has treated it as abandoned", async () => {
  await set("one");
  run.secrets.settings.beforeCreate = async () => {
    run.secrets.settings.beforeCreate = undefined;
    run.clock.pass(ABANDONED_MS);
    (await run.otherSecretStore().set(acme, "OTHER" as SecretName, "one"))._unsafeUnwrap();
  };
  expect((await run.secretStore.set(acme, KEY, "slow"))._unsafeUnwrapErr()).toMatchObject({ kind: "unavailable" });
  expect(await numbers()).toEqual([
    [KEY, 1],
    ["OTHER", 1],
  ]);
  expect(stored()).toEqual([idOf(1), idOf(1, "OTHER" as SecretName)].sort());
  expect((await set("two")).version).toBe(3);
});

test("a slow `set` does not list a version whose secret another call is deleting", async () => {
  await set("one");
  const deleting = Promise.withResolvers<void>();
  const finished = Promise.withResolvers<void>();
  let cleaning: Promise<unknown> = Promise.resolve();
  run.secrets.settings.beforeCreate = async () => {
    run.secrets.settings.beforeCreate = undefined;
    run.clock.pass(ABANDONED_MS);
    run.secrets.settings.beforeDelete = async () => {
      run.secrets.settings.beforeDelete = undefined;
      deleting.resolve();
      await finished.promise;
    };
    cleaning = Promise.resolve(run.otherSecretStore().set(acme, "OTHER" as SecretName, "one"));
    await deleting.promise;
  };
  const slow = await run.secretStore.set(acme, KEY, "slow");
  finished.resolve();
  await cleaning;
  expect(slow._unsafeUnwrapErr()).toMatchObject({ kind: "unavailable" });
  expect(await numbers()).toEqual([
    [KEY, 1],
    ["OTHER", 1],
  ]);
  expect(stored()).toEqual([idOf(1), idOf(1, "OTHER" as SecretName)].sort());
  expect(indexText()).toContain('"leftovers":[]');
});

test("a deletion that could not delete the value can be repeated", async () => {
  await set("one");
  run.secrets.faults.clear();
  run.secrets.faults.inject({ nth: 1, method: "DeleteSecret", kind: "permission_denied" });
  expect((await run.secretStore.delete(acme, KEY)).isErr()).toBe(true);
  expect(await listed()).toEqual([]);
  expect(stored()).toEqual([idOf(1)]);
  await remove();
  expect(stored()).toEqual([]);
  expect((await run.secretStore.delete(acme, KEY))._unsafeUnwrapErr().kind).toBe("not_found");
});

test("the same value makes a new version if the old one was deleted in AWS", async () => {
  await set("one");
  const secret = run.secrets.secrets.get(idOf(1));
  if (secret !== undefined) secret.isScheduledForDeletion = true;
  expect((await set("one")).version).toBe(2);
  expect((await set("one")).version).toBe(2);
});

test("a damaged list fails the calls and keeps the numbers", async () => {
  await set("one");
  const text = indexText();
  run.ecs.state.edit(INDEX, text.slice(1));
  for (const call of [
    run.secretStore.set(acme, KEY, "two"),
    run.secretStore.list(acme),
    run.secretStore.delete(acme, KEY),
  ])
    expect((await call)._unsafeUnwrapErr()).toMatchObject({ kind: "unavailable" });
  expect(run.logged()).toContain("damaged");
  run.ecs.state.edit(INDEX, text);
  expect((await set("two")).version).toBe(2);
});

test("an account can use at most 1,000 names of secrets, including deleted ones", async () => {
  const names = Object.fromEntries(Array.from({ length: 999 }, (_, at) => [`N${at}`, { next: 2, versions: [] }]));
  run.ecs.state.edit(INDEX, renderIndex({ names, leftovers: [] }));
  await set("one");
  expect((await run.secretStore.set(acme, "NEW" as SecretName, "one"))._unsafeUnwrapErr()).toMatchObject({
    kind: "conflict",
    message: expect.stringContaining("Use the name of an existing or deleted secret"),
  });
  expect((await set("two")).version).toBe(2);
});

test("the quota of the AWS account is an error that names it", async () => {
  await set("one");
  run.secrets.settings.maxSecrets = run.secrets.secrets.size;
  expect((await run.secretStore.set(acme, KEY, "two"))._unsafeUnwrapErr().message).toContain("quota of secrets");
});

test("an error that quotes the value is returned and logged without the value", async () => {
  await set("one");
  run.secrets.settings.beforeCreate = async () => {
    throw new AwsError("InvalidParameterException", `Value '${VALUE.slice(0, 20)}...' at 'secretString' is invalid`);
  };
  const failed = (await run.secretStore.set(acme, KEY, VALUE))._unsafeUnwrapErr();
  expect(inspect(failed, { depth: 10 })).not.toContain(VALUE.slice(0, 10));
  expect(run.logged()).toContain("InvalidParameterException");
  expect(run.logged()).not.toContain(VALUE.slice(0, 10));
});

describe.each<FaultKind>(["unavailable", "reply_lost", "permission_denied"])(
  "with the fault %s at any call",
  (kind) => {
    const fakes = () => [run.secrets.faults, run.ecs.state.faults, run.iam.faults];
    const clear = () => {
      for (const faults of fakes()) faults.clear();
    };
    const calls = async (work: () => Promise<unknown>): Promise<[fake: number, nth: number][]> => {
      clear();
      await work();
      return fakes().flatMap(({ log }, fake) => log.map((_, at): [number, number] => [fake, at + 1]));
    };

    test("`set` stores the value or fails without a trace of it, and a repeat stores it once", {
      timeout: MATRIX_MS,
    }, async () => {
      await set("one");
      const all = await calls(() => set("two"));
      expect(all.length).toBeGreaterThan(6);
      for (const [fake, nth] of all) {
        const value = `${VALUE} ${fake} ${nth}`;
        clear();
        fakes()[fake]?.inject({ nth, kind });
        const first = await run.secretStore.set(acme, KEY, value);
        clear();
        if (kind !== "permission_denied") expect(first.isOk(), `${fake} ${nth}`).toBe(true);
        if (first.isErr()) expect(inspect(first.error, { depth: 10 })).not.toContain(VALUE);
        const again = await set(value);
        if (first.isOk()) expect(again).toEqual(first.value);
        expect((await listed())[0]?.versions[0]).toEqual(again);
      }
      expect(run.logged()).not.toContain(VALUE);
      run.clock.pass(ABANDONED_MS);
      await set("last");
      const [secret] = await listed();
      expect(stored()).toEqual(secret?.versions.map(({ version }) => idOf(version)).sort());
    });

    test("a repeated deletion leaves no value, and the value can be set again", { timeout: MATRIX_MS }, async () => {
      await set("one");
      const all = await calls(() => remove());
      expect(all.length).toBeGreaterThan(3);
      for (const [fake, nth] of all) {
        await set("one");
        clear();
        fakes()[fake]?.inject({ nth, kind });
        const first = await run.secretStore.delete(acme, KEY);
        clear();
        if (kind !== "permission_denied") expect(first.isOk(), `${fake} ${nth}`).toBe(true);
        // The first call may have deleted it already.
        (await run.secretStore.delete(acme, KEY)).unwrapOr(undefined);
        expect(await listed(), `${fake} ${nth}`).toEqual([]);
        expect(stored(), `${fake} ${nth}`).toEqual([]);
      }
    });
  },
);
