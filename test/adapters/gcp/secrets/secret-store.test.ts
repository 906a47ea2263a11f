/** Secrets on the fake Secret Manager: concurrent writes, faults, deletions, and the values that services see. */
import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { OWNER_LABEL } from "../../../../adapters/cloud/deploy/labels.ts";
import { secretIdOf, secretNameOf } from "../../../../adapters/gcp/secrets/names.ts";
import {
  MAX_VERSIONS,
  parseVersions,
  renderRedeploys,
  renderVersion,
} from "../../../../adapters/gcp/secrets/versions.ts";
import { accountDigest } from "../../../../adapters/shared/accounts/account-digest.ts";
import { millisOf } from "../../../../core/domain/wire/instant.ts";
import type { SecretName } from "../../../../core/domain/wire/names.ts";
import { oneMount } from "../../../clouds/rollouts/steps.ts";
import type { FaultKind } from "../../../fakes/faults.ts";
import { accountOf, nameOf } from "../../../support/http/brands.ts";
import { type FakeCloudRun, openFakeCloudRun } from "../../../support/providers/cloud-run-platform.ts";

const acme = accountOf("acme");
const KEY = "KEY" as SecretName;
const VALUE = "correct horse battery staple";

let run: FakeCloudRun;
beforeEach(async () => {
  run = await openFakeCloudRun();
});
afterEach(() => run.close());

const set = async (value: string, name = KEY) => (await run.secretStore.set(acme, name, value))._unsafeUnwrap();
const listed = async () => (await run.secretStore.list(acme))._unsafeUnwrap();
const using = (version: number, image?: string) => ({
  ...run.template("app", "acme", image === undefined ? {} : { image }),
  secrets: { TOKEN: { name: KEY, version, follows: true } },
});
/** Calls Secret Manager as another client. */
const call = async (method: "POST" | "PATCH", path: string, data: object) => {
  const auth = await run.clients("auth");
  return auth.request({
    url: `https://secretmanager.googleapis.com/v1/projects/test-project/secrets${path}`,
    method,
    data,
  });
};
const contentsOf = (name = KEY) => run.secrets.contents()[secretIdOf(acme, name)];

test("the id of a secret shows its account and name, and names that differ in case have different ids", () => {
  const id = secretIdOf(acme, KEY);
  expect(secretNameOf(acme, id)).toBe(KEY);
  expect(secretNameOf(accountOf("other"), id)).toBeUndefined();
  expect(secretNameOf(acme, `${id}0`)).toBeUndefined();
  expect(secretIdOf(acme, "key" as SecretName).toLowerCase()).not.toBe(id.toLowerCase());
  expect(secretIdOf(acme, "a".repeat(63) as SecretName).length).toBeLessThanOrEqual(255);
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

test("redeploys begin and end even if reads do not show the recent writes of this process", async () => {
  await set("one");
  const pending = { owner: acme, name: KEY, version: 1 };
  run.secrets.freezeReads();
  (await run.secretStore.beginRedeploys(pending))._unsafeUnwrap();
  expect((await run.otherSecretStore().pendingRedeploys())._unsafeUnwrap()).toEqual([pending]);
  (await run.secretStore.endRedeploys(pending))._unsafeUnwrap();
  expect((await run.otherSecretStore().pendingRedeploys())._unsafeUnwrap()).toEqual([]);
  expect(await listed()).toMatchObject([{ versions: [{ version: 1 }] }]);
});

test("ending redeploys does not write a secret whose newer version has pending redeploys", async () => {
  await set("one");
  const newer = { owner: acme, name: KEY, version: 2 };
  (await run.secretStore.beginRedeploys(newer))._unsafeUnwrap();
  run.secrets.faults.clear();
  (await run.secretStore.endRedeploys({ ...newer, version: 1 }))._unsafeUnwrap();
  expect(run.secrets.faults.count("secrets.patch")).toBe(0);
  expect((await run.otherSecretStore().pendingRedeploys())._unsafeUnwrap()).toEqual([newer]);
});

test("the maximum number of versions fits into the annotations of a secret", () => {
  const annotations = Object.assign(
    renderRedeploys({ owner: accountOf("a".repeat(255)), version: 1_000_000 }),
    ...Array.from({ length: MAX_VERSIONS }, (_, at) =>
      renderVersion(1_000_000 + at, `hmac:${"f".repeat(32)}`, 9_999_999_999_999),
    ),
  );
  expect(Buffer.byteLength(Object.entries(annotations).flat().join(""))).toBeLessThan(16 * 1024);
  expect(parseVersions(annotations)).toHaveLength(MAX_VERSIONS);
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
  const other = (await run.otherSecretStore().set(acme, "OTHER" as SecretName, "one"))._unsafeUnwrap();
  expect(await set("one", "OTHER" as SecretName)).toEqual(other);
});

test("list returns the writes of this process even if Secret Manager's list lags, for ten minutes", async () => {
  await set("one");
  await set("one", "GONE" as SecretName);
  run.secrets.freezeLists();
  await set("two");
  await set("one", "NEW" as SecretName);
  (await run.secretStore.delete(acme, KEY, 1))._unsafeUnwrap();
  (await run.secretStore.delete(acme, "GONE" as SecretName))._unsafeUnwrap();
  const numbers = async () =>
    (await listed()).map(({ name, versions }) => [name, ...versions.map((one) => one.version)]);
  expect(await numbers()).toEqual([
    ["KEY", 2],
    ["NEW", 1],
  ]);
  expect((await run.secretStore.list(accountOf("other")))._unsafeUnwrap()).toEqual([]);
  await run.clock.sleep(10 * 60_000);
  expect(await numbers()).toEqual([
    ["GONE", 1],
    ["KEY", 1],
  ]);
});

test("a deletion destroys the values, including one that a failed call left behind", async () => {
  await set("one");
  run.secrets.faults.inject({ nth: 1, method: "secrets.patch", kind: "permission_denied" });
  expect((await run.secretStore.set(acme, KEY, "two")).isErr()).toBe(true);
  expect((await listed())[0]?.versions.map(({ version }) => version)).toEqual([1]);
  expect(contentsOf()).toEqual([1, 2]);
  (await run.secretStore.delete(acme, KEY))._unsafeUnwrap();
  expect(contentsOf()).toEqual([]);
  expect((await set("three")).version).toBe(3);
});

test("a version that another process deleted stays deleted when this process sets a value", async () => {
  const remove = async () => (await run.otherSecretStore().delete(acme, KEY))._unsafeUnwrap();
  await set("one");
  await remove();
  expect((await set("one")).version).toBe(2);
  expect(contentsOf()).toEqual([2]);
  await remove();
  expect((await set("two")).version).toBe(3);
  for (const store of [run.secretStore, run.otherSecretStore()])
    expect((await store.list(acme))._unsafeUnwrap()[0]?.versions.map(({ version }) => version)).toEqual([3]);
});

test("a deletion destroys the value that a failed first set left behind", async () => {
  run.secrets.faults.inject({ nth: 1, method: "secrets.patch", kind: "permission_denied" });
  expect((await run.secretStore.set(acme, KEY, "one")).isErr()).toBe(true);
  expect(contentsOf()).toEqual([1]);
  (await run.secretStore.delete(acme, KEY))._unsafeUnwrap();
  expect(contentsOf()).toEqual([]);
  expect((await run.secretStore.delete(acme, KEY))._unsafeUnwrapErr().kind).toBe("not_found");
});

test.each([
  ["set", async () => void (await set("three"))],
  ["deletion of a version", async () => (await run.secretStore.delete(acme, KEY, 1))._unsafeUnwrap()],
])("a %s destroys unlisted values that are older than ten minutes, on all pages", async (_, change) => {
  run.secrets.maxPageSize = 1;
  await set("one");
  await set("two");
  const addUnlisted = async () => {
    run.secrets.faults.inject({ nth: 1, method: "secrets.patch", kind: "permission_denied" });
    expect((await run.secretStore.set(acme, KEY, "unlisted")).isErr()).toBe(true);
  };
  await addUnlisted();
  await run.clock.sleep(11 * 60_000);
  await addUnlisted();
  expect(contentsOf()).toEqual([1, 2, 3, 4]);
  await change();
  expect(contentsOf()).toEqual(expect.arrayContaining([2, 4]));
  expect(contentsOf()).not.toContain(3);
});

test("the operator's log has the reason of a rejection", async () => {
  expect((await run.secretStore.set(acme, KEY, "x".repeat(64 * 1024 + 1))).isErr()).toBe(true);
  expect(run.logged.join("\n")).toContain("payload.data: 1 byte to 64KiB");
});

test("a secret with the largest number of versions accepts a value once a version is deleted", async () => {
  const digest = (await set("one")).digest;
  const versions = Array.from({ length: MAX_VERSIONS }, (_, at) => renderVersion(at + 1, digest, 0));
  await call("PATCH", `/${secretIdOf(acme, KEY)}?updateMask=annotations`, {
    annotations: Object.assign({}, ...versions),
  });
  const full = (await run.secretStore.set(acme, KEY, "one more"))._unsafeUnwrapErr();
  expect(full).toMatchObject({ kind: "conflict", message: expect.stringContaining("portside secret delete KEY") });
  (await run.secretStore.delete(acme, KEY, 1))._unsafeUnwrap();
  expect((await set("one more")).version).toBe(2);
});

describe.each<FaultKind>(["unavailable", "reply_lost", "permission_denied"])(
  "with the fault %s at any call",
  (kind) => {
    test("`set` stores the value or fails without a trace of it, and a repeat stores it once", async () => {
      await set("one");
      run.secrets.faults.clear();
      await set("two");
      const calls = run.secrets.faults.log.length;
      for (let nth = 1; nth <= calls; nth++) {
        const value = `${VALUE} ${nth}`;
        run.secrets.faults.inject({ nth, kind });
        const first = await run.secretStore.set(acme, KEY, value);
        run.secrets.faults.clear();
        if (kind !== "permission_denied") expect(first.isOk(), String(nth)).toBe(true);
        const trace = first.isErr() ? inspect(first.error, { depth: 10 }) : "";
        expect(trace).not.toContain(Buffer.from(value).toString("base64"));
        expect(trace).not.toContain(VALUE);
        const again = await set(value);
        if (first.isOk()) expect(again).toEqual(first.value);
        expect((await listed())[0]?.versions[0]).toEqual(again);
      }
      expect(run.logged.join("\n")).not.toContain(Buffer.from(VALUE).toString("base64").slice(0, 16));
      expect(run.logged.join("\n")).not.toContain(VALUE);
    });

    test.each([
      ["secret", false],
      ["version", true],
    ])("a repeated deletion of a %s leaves no value, and the value can be set again", async (_, one) => {
      const { version } = await set("one");
      run.secrets.faults.clear();
      const remove = (number: number) => run.secretStore.delete(acme, KEY, one ? number : undefined);
      (await remove(version))._unsafeUnwrap();
      const calls = run.secrets.faults.log.length;
      expect(calls).toBeGreaterThan(3);
      for (let nth = 1; nth <= calls; nth++) {
        const added = await set("one");
        run.secrets.faults.inject({ nth, kind });
        const first = await remove(added.version);
        run.secrets.faults.clear();
        if (kind !== "permission_denied") expect(first.isOk(), String(nth)).toBe(true);
        const again = await set("one");
        expect(contentsOf(), String(nth)).toContain(again.version);
        // The first version may be deleted already.
        for (const number of [added.version, again.version]) (await remove(number)).unwrapOr(undefined);
        expect(contentsOf(), String(nth)).toEqual([]);
        expect(await listed(), String(nth)).toEqual([]);
      }
    });
  },
);

test("setting an unchanged value restores access that was removed by hand", async () => {
  const { version } = await set("one");
  run.secrets.revoke(secretIdOf(acme, KEY));
  expect(await run.endOf(using(version), "absent")).toMatchObject({ failure: { reason: "secret_unavailable" } });
  await set("one");
  expect((await run.endOf(using(version), await run.expectedOf("app")))?.kind).toBe("ready");
});

test("a rollout waits about two minutes at most until a new grant takes effect", async () => {
  await run.close();
  run = await openFakeCloudRun({ adverse: new Set(["grant_late"]) });
  const { version } = await set("one");
  const before = millisOf(run.clock.now());
  const events = await run.rollOut(using(version), "absent");
  expect(events.at(-1)?.kind).toBe("ready");
  expect(events).toContainEqual({
    kind: "progress",
    message: "Waiting until Cloud Run has access to the volumes and secrets",
  });
  expect(millisOf(run.clock.now()) - before).toBeLessThan(150_000);
});

test("a new secret that is visible late gets its grant within about a minute", async () => {
  await run.close();
  run = await openFakeCloudRun({ adverse: new Set(["secret_late"]) });
  const before = millisOf(run.clock.now());
  await set("one");
  expect(millisOf(run.clock.now()) - before).toBeLessThan(90_000);
  expect(run.secrets.faults.count("secrets.getIamPolicy")).toBeLessThan(12);
});

test("a rollout reads each secret and each version once", async () => {
  const [first, second] = [await set("leaving"), await set("two")];
  const versions = [first, second, first, second].map(({ version }) => version);
  const secrets = Object.fromEntries(
    versions.map((version, at) => [`TOKEN_${at}`, { name: KEY, version, follows: true }]),
  );
  run.secrets.faults.clear();
  const options = {};
  expect((await run.secretStore.missing(acme, secrets, options))._unsafeUnwrap()).toBeUndefined();
  expect((await run.secretStore.values(acme, secrets))._unsafeUnwrap()).toEqual(["leaving", "two"]);
  expect(run.secrets.faults.log).toEqual(["secrets.get", "secrets.versions.access", "secrets.versions.access"]);
  const unknown = { name: KEY, version: 9, follows: true };
  expect((await run.secretStore.missing(acme, { ...secrets, UNKNOWN: unknown }, options))._unsafeUnwrap()).toBe(
    unknown,
  );
});

test("an account can use at most 1,000 names of secrets, including deleted ones", async () => {
  await set("one");
  (await run.secretStore.delete(acme, KEY))._unsafeUnwrap();
  const labels = { [OWNER_LABEL]: accountDigest(acme) };
  for (let at = 1; at < 1000; at++)
    await call("POST", `?secretId=portside-${at}`, { labels, replication: { automatic: {} } });
  expect((await run.secretStore.set(acme, "NEW" as SecretName, "one"))._unsafeUnwrapErr()).toMatchObject({
    kind: "conflict",
    message: expect.stringContaining("Use the name of an existing or deleted secret"),
  });
  expect((await set("two")).version).toBe(2);
});

test("a value that was destroyed by hand fails the rollout, and the previous revision serves", async () => {
  await set("one");
  const { version } = await set("two");
  await run.rollOut(using(1), "absent");
  await call("POST", `/${secretIdOf(acme, KEY)}/versions/${version}:destroy`, {});
  const end = await run.endOf(using(version), await run.expectedOf("app"));
  expect(end).toMatchObject({ failure: { reason: "secret_unavailable" } });
  expect((await run.serviceOf("app")).serving[0]?.template.secrets?.["TOKEN"]?.version).toBe(1);
});

test("the template refers to the version, and the last lines of a failed start do not contain the value", async () => {
  const { version } = await set("leaving");
  const end = await run.endOf(using(version, run.image("exits:7")), "absent");
  expect(end).toMatchObject({ kind: "failed", failure: { reason: "crashed", logTail: ["[secret]"] } });
  const [, ...others] = run.run.revisions("app");
  expect(others).toEqual([]);
  const env = run.run.stored("app")?.template.containers[0].env;
  expect(env).toContainEqual(
    expect.objectContaining({
      name: "TOKEN",
      valueSource: expect.objectContaining({
        secretKeyRef: { secret: secretIdOf(acme, KEY), version: String(version) },
      }),
    }),
  );
});

test("without access to the values, a failed start has no last lines", async () => {
  const { version } = await set("leaving");
  run.secrets.faults.inject({ nth: 1, method: "secrets.versions.access", kind: "permission_denied" });
  const end = await run.endOf(using(version, run.image("exits:7")), "absent");
  expect(end).toMatchObject({ kind: "failed", failure: { reason: "crashed" } });
  expect(end).not.toHaveProperty("failure.logTail");
});

test("the last lines of a revision that could not mount a volume do not contain the value of a secret", async () => {
  const { version } = await set("leaving");
  run.storage.world.insertBucket({ name: "vol-data" });
  const template = { ...using(version, run.image("exits:7")), mounts: oneMount };
  const lastLines: typeof run.lastLines = async (scope) => [
    ...(await run.lastLines(scope)),
    { system: true, text: "Application failed to start: mounting the bucket vol-data failed: Error 403" },
  ];
  const end = await run.endOf(template, "absent", { by: run.replicaWith({}, lastLines) });
  expect(end).toMatchObject({ failure: { reason: "volume_unavailable", logTail: ["[secret]"] } });
});

test("a variable that refers to a secret can become a plain variable, and the reverse", async () => {
  const { version } = await set("one");
  await run.rollOut({ ...run.template("app"), env: { TOKEN: "plain" } }, "absent");
  await run.rollOut(using(version), await run.expectedOf("app"));
  const names = () =>
    run.run.stored("app")?.template.containers[0].env.filter(({ name }: { name: string }) => name === "TOKEN");
  expect(names()).toHaveLength(1);
  await run.rollOut(run.template("app"), await run.expectedOf("app"));
  expect(names()).toEqual([]);
  expect((await run.platform.releases?.({ name: nameOf("app"), owner: acme }))?._unsafeUnwrap()).toMatchObject([
    { release: 3 },
    { release: 2, template: { secrets: { TOKEN: { name: KEY, version, follows: true } } } },
    { release: 1, template: { env: { TOKEN: "plain" } } },
  ]);
});
