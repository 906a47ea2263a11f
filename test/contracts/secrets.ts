/** The contract suite of `SecretStore`, and of the variables that refer to secrets. */
import { expect } from "vitest";
import type { AccountId } from "../../core/domain/accounts/account.ts";
import type { StoredSecret } from "../../core/domain/secrets/secret.ts";
import type { SecretName } from "../../core/domain/wire/names.ts";
import type { SecretStore } from "../../core/ports/secret-store.ts";
import type { ContractCase, ProviderSubject } from "./harness.ts";
import { build, deployed, expectError, expectOk, failedWith, rollOut, serviceOf, templateFor } from "./support.ts";

type Case = ContractCase<ProviderSubject>;

const KEY = "KEY" as SecretName;

const storeOf = ({ provider: { secrets } }: ProviderSubject): SecretStore => {
  if (secrets === undefined) throw new Error("the provider declares secrets without a store");
  return secrets;
};

const listed = (subject: ProviderSubject, owner: AccountId): Promise<readonly StoredSecret[]> =>
  expectOk(storeOf(subject).list(owner));

const set = (subject: ProviderSubject, owner: AccountId, value: string, name = KEY) =>
  expectOk(storeOf(subject).set(owner, name, value));

const numbers = (secrets: readonly StoredSecret[]) =>
  secrets.map(({ name, versions }) => [name, ...versions.map(({ version }) => version)]);

const storing: readonly Omit<Case, "group" | "when">[] = [
  {
    name: "list returns the secrets by name, each with its versions, newest first",
    run: async (subject) => {
      const owner = subject.account();
      expect(await listed(subject, owner)).toEqual([]);
      const first = await set(subject, owner, "one", "b-2" as SecretName);
      const second = await set(subject, owner, "two", "b-2" as SecretName);
      const other = await set(subject, owner, "one", "A_1" as SecretName);
      expect(await listed(subject, owner)).toEqual([
        { name: "A_1", versions: [other] },
        { name: "b-2", versions: [second, first] },
      ]);
      expect(second.version).toBeGreaterThan(first.version);
      expect(first.createdAt).toMatch(/^\d{4}-\d\d-\d\dT.*\+00:00$/);
    },
  },
  {
    name: "setting the newest value again adds no version, and setting an earlier value does",
    run: async (subject) => {
      const owner = subject.account();
      const first = await set(subject, owner, "one");
      expect(await set(subject, owner, "one")).toEqual(first);
      const second = await set(subject, owner, "two");
      const third = await set(subject, owner, "one");
      expect(third.version).toBeGreaterThan(second.version);
      expect(third.digest).toBe(first.digest);
      expect(numbers(await listed(subject, owner))).toEqual([[KEY, third.version, second.version, first.version]]);
    },
  },
  {
    name: "accounts do not share names",
    run: async (subject) => {
      const [owner, other] = [subject.account(), subject.account()];
      const own = await set(subject, owner, "one");
      expect(await listed(subject, other)).toEqual([]);
      const theirs = await set(subject, other, "one");
      expect(theirs.digest).not.toBe(own.digest);
      await expectOk(storeOf(subject).delete(other, KEY));
      expect(numbers(await listed(subject, owner))).toEqual([[KEY, own.version]]);
    },
  },
  {
    name: "a digest shows whether a value changed, and is not a plain hash of the value",
    run: async (subject) => {
      const owner = subject.account();
      const first = await set(subject, owner, "one");
      const second = await set(subject, owner, "two");
      const other = await set(subject, owner, "one", "OTHER" as SecretName);
      expect(new Set([first, second, other].map(({ digest }) => digest)).size).toBe(3);
      const plain = Buffer.from(await crypto.subtle.digest("SHA-256", new TextEncoder().encode("one"))).toString("hex");
      expect(first.digest).toMatch(/^hmac:[0-9a-f]{32}$/);
      expect(first.digest).not.toContain(plain.slice(0, 16));
      expect(first.digest).not.toContain("one");
    },
  },
];

const deleting: readonly Omit<Case, "group" | "when">[] = [
  {
    name: "list omits a deleted version, and returns the others",
    run: async (subject) => {
      const owner = subject.account();
      const [first, second, third] = [
        await set(subject, owner, "one"),
        await set(subject, owner, "two"),
        await set(subject, owner, "three"),
      ];
      await expectOk(storeOf(subject).delete(owner, KEY, second.version));
      expect(numbers(await listed(subject, owner))).toEqual([[KEY, third.version, first.version]]);
    },
  },
  {
    name: "a secret whose last version was deleted does not exist",
    run: async (subject) => {
      const owner = subject.account();
      const { version } = await set(subject, owner, "one");
      await expectOk(storeOf(subject).delete(owner, KEY, version));
      expect(await listed(subject, owner)).toEqual([]);
    },
  },
  {
    name: "a version number is never reused, even after the newest version or the secret is deleted",
    run: async (subject) => {
      const owner = subject.account();
      await set(subject, owner, "one");
      const second = await set(subject, owner, "two");
      await expectOk(storeOf(subject).delete(owner, KEY, second.version));
      const third = await set(subject, owner, "three");
      expect(third.version).toBeGreaterThan(second.version);
      await expectOk(storeOf(subject).delete(owner, KEY));
      const again = await set(subject, owner, "one");
      expect(again.version).toBeGreaterThan(third.version);
      expect(numbers(await listed(subject, owner))).toEqual([[KEY, again.version]]);
    },
  },
  {
    name: "fails with not_found for another account, an unknown name and an unknown version",
    run: async (subject) => {
      const [owner, other] = [subject.account(), subject.account()];
      const { version } = await set(subject, owner, "one");
      const store = storeOf(subject);
      expect((await expectError(store.delete(other, KEY))).kind).toBe("not_found");
      expect((await expectError(store.delete(owner, "OTHER" as SecretName))).kind).toBe("not_found");
      expect((await expectError(store.delete(owner, KEY, version + 1))).kind).toBe("not_found");
      expect(numbers(await listed(subject, owner))).toEqual([[KEY, version]]);
    },
  },
];

const pendingOf = async (subject: ProviderSubject, ...owners: readonly AccountId[]) => {
  const all = await expectOk(storeOf(subject).pendingRedeploys());
  return owners.map((owner) =>
    all
      .filter((one) => one.owner === owner)
      .map(({ name, version }) => [name, version] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
};

const redeploying: readonly Omit<Case, "group" | "when">[] = [
  {
    name: "pending redeploys of every account are listed from their beginning to their end",
    run: async (subject) => {
      const store = storeOf(subject);
      const [owner, other] = [subject.account(), subject.account()];
      const OTHER = "OTHER" as SecretName;
      const { version } = await set(subject, owner, "one");
      const { version: second } = await set(subject, owner, "one", OTHER);
      const { version: theirs } = await set(subject, other, "one");
      expect(await pendingOf(subject, owner, other)).toEqual([[], []]);
      await expectOk(store.beginRedeploys({ owner, name: KEY, version }));
      await expectOk(store.beginRedeploys({ owner, name: OTHER, version: second }));
      await expectOk(store.beginRedeploys({ owner: other, name: KEY, version: theirs }));
      expect(await pendingOf(subject, owner, other)).toEqual([
        [
          [KEY, version],
          [OTHER, second],
        ],
        [[KEY, theirs]],
      ]);
      await expectOk(store.endRedeploys({ owner, name: KEY, version }));
      expect(await pendingOf(subject, owner, other)).toEqual([[[OTHER, second]], [[KEY, theirs]]]);
      await expectOk(store.endRedeploys({ owner, name: KEY, version }));
      expect(numbers(await listed(subject, owner))).toEqual([
        [KEY, version],
        [OTHER, second],
      ]);
    },
  },
  {
    name: "the pending redeploys of a secret name the newest version for which redeploys have begun",
    run: async (subject) => {
      const store = storeOf(subject);
      const owner = subject.account();
      const { version: first } = await set(subject, owner, "one");
      const { version: second } = await set(subject, owner, "two");
      const pending = (version: number) => ({ owner, name: KEY, version });
      await expectOk(store.beginRedeploys(pending(second)));
      await expectOk(store.beginRedeploys(pending(first)));
      expect(await pendingOf(subject, owner)).toEqual([[[KEY, second]]]);
      await expectOk(store.endRedeploys(pending(first)));
      expect(await pendingOf(subject, owner)).toEqual([[[KEY, second]]]);
      await expectOk(store.endRedeploys(pending(second)));
      expect(await pendingOf(subject, owner)).toEqual([[]]);
      await expectOk(store.beginRedeploys(pending(first)));
      await expectOk(store.endRedeploys(pending(second)));
      expect(await pendingOf(subject, owner)).toEqual([[]]);
    },
  },
];

const pinned = (version: number, name = KEY) => ({ name, version, follows: true });

const templates: readonly Omit<Case, "group" | "when">[] = [
  {
    name: "find returns the references, and none after a rollout without them",
    run: async (subject) => {
      const [owner, name] = [subject.account(), subject.name()];
      const { version } = await set(subject, owner, "one");
      const image = await build(subject, owner, name, subject.sources.files());
      const secrets = { TOKEN: pinned(version), OTHER: { ...pinned(version), follows: false } };
      await deployed(subject, { ...templateFor(owner, name, image), secrets });
      const { etag, serving } = await serviceOf(subject, name);
      expect(serving[0]?.template.secrets).toEqual(secrets);
      expect(JSON.stringify(serving)).not.toContain('"one"');
      await deployed(subject, templateFor(owner, name, image), { etag, owner });
      expect((await serviceOf(subject, name)).serving[0]?.template).not.toHaveProperty("secrets");
    },
  },
];

const variableAt = async (url: string, name: string): Promise<string> =>
  (await fetch(`${url}/env?name=${name}`, { headers: { connection: "close" } })).text();

const values: readonly Omit<Case, "group" | "when">[] = [
  {
    name: "an instance sees the values of the pinned versions",
    run: async (subject) => {
      const [owner, name] = [subject.account(), subject.name()];
      const text = 'grüß dich, "world"\n\\ $HOME \'; % =';
      const first = await set(subject, owner, text);
      const second = await set(subject, owner, "two");
      const image = await build(subject, owner, name, subject.sources.files());
      const secrets = { OLD: pinned(first.version), NEW: pinned(second.version) };
      const { url } = await deployed(subject, { ...templateFor(owner, name, image), env: { PLAIN: "x" }, secrets });
      expect(await variableAt(url, "OLD")).toBe(text);
      expect(await variableAt(url, "NEW")).toBe("two");
      expect(await variableAt(url, "PLAIN")).toBe("x");
    },
  },
  {
    name: "a rollout fails with secret_unavailable if the version or the account's secret does not exist",
    run: async (subject) => {
      const [owner, other, name] = [subject.account(), subject.account(), subject.name()];
      const { version } = await set(subject, owner, "one");
      const theirs = await set(subject, other, "two", "THEIRS" as SecretName);
      const image = await build(subject, owner, name, subject.sources.files());
      const template = templateFor(owner, name, image);
      for (const missing of [pinned(version + 1), pinned(theirs.version, "THEIRS" as SecretName)]) {
        const found = await subject.provider.services.find(name);
        const state = found._unsafeUnwrap();
        const expected = state.kind === "held" ? { etag: state.service.etag, owner } : "absent";
        await failedWith(
          rollOut(subject, { ...template, secrets: { TOKEN: missing } }, expected),
          "secret_unavailable",
        );
      }
    },
  },
];

const inGroup = (
  group: string,
  cases: readonly Omit<Case, "group" | "when">[],
  when: NonNullable<Case["when"]>,
): Case[] => cases.map((one) => ({ group, when, ...one }));

/** The cases of `SecretStore`. They run only on providers with the capability. */
export const secretStoreCases: readonly Case[] = [
  ...inGroup("stored secrets", storing, ({ secrets }) => secrets.supported),
  ...inGroup("deleted secrets", deleting, ({ secrets }) => secrets.supported),
  ...inGroup("pending redeploys", redeploying, ({ secrets }) => secrets.supported),
  ...inGroup("references to secrets", templates, ({ secrets }) => secrets.supported),
];

/** The cases of services that run with secrets. */
export const runningSecretCases: readonly Case[] = inGroup(
  "values of secrets",
  values,
  ({ runs, secrets }) => runs.supported && secrets.supported,
);
