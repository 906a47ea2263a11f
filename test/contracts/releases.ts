/** The contract suite of `ServicePlatform.releases`: the records of rollouts, and the effect of a removal. */
import { expect } from "vitest";
import type { ReleaseOrigin, StoredRelease } from "../../core/domain/deploy/releases/release.ts";
import type { Service } from "../../core/domain/deploy/service-template.ts";
import type { ReleaseOptions } from "../../core/ports/service-platform.ts";
import type { ContractCase, ProviderSubject } from "./harness.ts";
import { build, collect, deployed, expectOk, failedWith, rollOut, running, serviceOf, templateFor } from "./support.ts";

type Case = ContractCase<ProviderSubject>;

const releasesOf = async (
  { provider }: ProviderSubject,
  service: Pick<Service, "name" | "owner">,
  options: ReleaseOptions = {},
): Promise<readonly StoredRelease[]> => {
  if (provider.services.releases === undefined) throw new Error("the provider declares releases without the method");
  return expectOk(provider.services.releases(service, options));
};

const expectedOf = ({ etag, owner }: Service) => ({ etag, owner });

const origin: ReleaseOrigin = {
  createdBy: { kind: "token", id: "jwt:1", label: 'grüß "dich"' },
  message: "Fix the login page",
  sourceDigest: `sha256:${"0a".repeat(32)}`,
  rolledBackTo: 1,
};

const cases: readonly Omit<Case, "group" | "when">[] = [
  {
    name: "a rollout records its template and its origin, field by field, under its revision",
    run: async (subject) => {
      const [owner, name] = [subject.account(), subject.name()];
      const image = await build(subject, owner, name, subject.sources.hello("recorded"));
      const template = { ...templateFor(owner, name, image), env: { GREETING: "grüß dich", EMPTY: "" }, timeout: 61 };
      const ready = await deployed(subject, template, "absent", origin);
      const [recorded, ...others] = await releasesOf(subject, { name, owner });
      expect(others).toEqual([]);
      expect(recorded).toMatchObject({ ...origin, revision: ready.revision, template, hasImage: true });
      expect(recorded?.uid).not.toBe("");
      expect(recorded?.createdAt).toMatch(/^\d{4}-\d\d-\d\dT.*\+00:00$/);
      expect(Object.keys(recorded?.envDigests ?? {}).sort()).toEqual(["EMPTY", "GREETING"]);
    },
  },
  {
    name: "a release appears together with its traffic",
    run: async (subject) => {
      const { name, owner, template, service } = await running(subject);
      const newest = async () => (await releasesOf(subject, { name, owner }))[0]?.revision;
      for await (const event of rollOut(subject, { ...template, timeout: 31 }, expectedOf(service))) {
        if (event.kind === "progress") {
          // The traffic may move between the reads.
          const before = await newest();
          const served = (await serviceOf(subject, name)).serving[0]?.id;
          if ((await newest()) === before) expect(served).toBe(before);
        }
        if (event.kind === "ready") expect(await newest()).toBe(event.revision);
      }
    },
  },
  {
    name: "lists releases newest first, with increasing numbers and the same uid",
    run: async (subject) => {
      const { name, owner, template, service } = await running(subject);
      await deployed(subject, { ...template, timeout: 31 }, expectedOf(service));
      await deployed(subject, { ...template, timeout: 32 }, expectedOf(await serviceOf(subject, name)));
      const releases = await releasesOf(subject, { name, owner });
      const numbers = releases.map(({ release }) => release);
      expect(releases.map((one) => one.template.timeout)).toEqual([32, 31, template.timeout]);
      expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => b - a));
      expect(new Set(releases.map(({ uid }) => uid)).size).toBe(1);
      expect(releases.map(({ revision }) => revision)[0]).toBe((await serviceOf(subject, name)).serving[0]?.id);
      for (const newest of [1, 2, 10])
        expect(await releasesOf(subject, { name, owner }, { newest })).toEqual(releases.slice(0, newest));
    },
  },
  {
    name: "a rollout that fails records nothing",
    run: async (subject) => {
      const { name, owner, template, service } = await running(subject);
      const before = await releasesOf(subject, { name, owner });
      const refused = { reason: "volume_unavailable", message: "The volume was deleted." } as const;
      const mayServe = async () => refused;
      await failedWith(rollOut(subject, template, expectedOf(service), { mayServe }), "volume_unavailable");
      await failedWith(rollOut(subject, template, expectedOf(service)), "superseded");
      await failedWith(rollOut(subject, template, "absent"), "superseded");
      expect(await releasesOf(subject, { name, owner })).toEqual(before);
    },
  },
  {
    name: "a digest shows whether a value changed, and is not a plain hash of the value",
    run: async (subject) => {
      const { name, owner, template, service } = await running(subject);
      const first = { ...template, env: { SAME: "one", CHANGED: "one", OTHER: "one" } };
      await deployed(subject, first, expectedOf(service));
      const second = { ...template, env: { SAME: "one", CHANGED: "two", OTHER: "one" } };
      await deployed(subject, second, expectedOf(await serviceOf(subject, name)));
      const [now, before] = (await releasesOf(subject, { name, owner })).map(({ envDigests }) => envDigests);
      expect(now?.["SAME"]).toBe(before?.["SAME"]);
      expect(now?.["CHANGED"]).not.toBe(before?.["CHANGED"]);
      const plain = Buffer.from(await crypto.subtle.digest("SHA-256", new TextEncoder().encode("one"))).toString("hex");
      for (const digest of Object.values(before ?? {})) {
        expect(digest.length).toBeGreaterThan(16);
        expect(digest).not.toContain(plain.slice(0, 16));
      }
    },
  },
  {
    name: "another account and an unknown name have no releases",
    run: async (subject) => {
      const { name, owner } = await running(subject);
      expect(await releasesOf(subject, { name, owner: subject.account() })).toEqual([]);
      expect(await releasesOf(subject, { name: subject.name(), owner })).toEqual([]);
    },
  },
  {
    name: "a removal deletes the releases, and a later service never reuses a number with the same uid",
    run: async (subject) => {
      const { name, owner, template, service } = await running(subject);
      const [first] = await releasesOf(subject, { name, owner });
      await expectOk(subject.provider.services.remove(name, expectedOf(service)));
      expect(await releasesOf(subject, { name, owner })).toEqual([]);
      const events = await collect(rollOut(subject, template, "absent"));
      expect(events.at(-1)?.kind).toBe("ready");
      const [again, ...others] = await releasesOf(subject, { name, owner });
      expect(others).toEqual([]);
      if (again?.uid === first?.uid) expect(again?.release).toBeGreaterThan(first?.release ?? 0);
      else expect(again?.release).toBe(1);
    },
  },
];

/** The cases of releases. They run only on providers with the capability. */
export const releaseCases: readonly Case[] = cases.map((one) => ({
  group: "releases",
  when: ({ releases }) => releases.supported,
  ...one,
}));
