/** The contract suite of `ServicePlatform` for every platform, whether or not services run. */
import { expect } from "vitest";
import type { AccountId } from "../../core/domain/accounts/account.ts";
import type { DeployOutcome } from "../../core/domain/deploy/events.ts";
import { idleModes } from "../../core/domain/deploy/idle.ts";
import type { Expected } from "../../core/domain/deploy/plan.ts";
import type { ServiceTemplate } from "../../core/domain/deploy/service-template.ts";
import { capabilitiesSchema } from "../../core/domain/wire/capabilities.ts";
import type { DeploymentName } from "../../core/domain/wire/names.ts";
import type { ContractCase, ProviderSubject } from "./harness.ts";
import { instanceCases } from "./instances.ts";
import { mayServeCases } from "./may-serve.ts";
import { releaseCases } from "./releases.ts";
import {
  build,
  collect,
  deployed,
  expectError,
  expectOk,
  failedWith,
  rollOut,
  running,
  serviceOf,
  stateOf,
  templateFor,
} from "./support.ts";

type Case = ContractCase<ProviderSubject>;

const inGroup = (group: string, cases: readonly Omit<Case, "group">[]): Case[] =>
  cases.map((one) => ({ group, ...one }));

const withEveryField = (template: ServiceTemplate): ServiceTemplate => ({
  ...template,
  port: 3000,
  memory: 300 * 1000 * 1000,
  cpu: 2,
  timeout: 61,
  concurrency: 7,
  maxInstances: 3,
  sessionAffinity: true,
  env: Object.fromEntries([
    ["GREETING", 'grüß dich, "world"\n'],
    ["__proto__", "a name like any other"],
    ["EMPTY", ""],
  ]),
});

const reading = inGroup("find and list", [
  {
    name: "an unused name is free",
    run: async (subject) => expect(await stateOf(subject, subject.name())).toEqual({ kind: "free" }),
  },
  {
    name: "find returns the template that was rolled out, field by field",
    run: async (subject) => {
      const [owner, name] = [subject.account(), subject.name()];
      const image = await build(subject, owner, name, subject.sources.hello("all fields"));
      const template = withEveryField(templateFor(owner, name, image));
      const ready = await deployed(subject, template);
      const service = await serviceOf(subject, name);
      expect(service).toMatchObject({ name, owner, rollingOut: null, url: ready.url });
      expect(service.serving).toEqual([{ id: ready.revision, template }]);
    },
  },
  {
    name: "find returns the idle mode, and none after a rollout without one",
    when: ({ idle }) => idle.supported,
    run: async (subject) => {
      const [owner, name] = [subject.account(), subject.name()];
      const image = await build(subject, owner, name, subject.sources.hello("idle"));
      let expected: Expected = "absent";
      for (const idle of idleModes) {
        await deployed(subject, { ...templateFor(owner, name, image), idle }, expected);
        const { etag, serving } = await serviceOf(subject, name);
        expect(serving[0]?.template.idle).toBe(idle);
        expected = { etag, owner };
      }
      await deployed(subject, templateFor(owner, name, image), expected);
      expect((await serviceOf(subject, name)).serving[0]?.template).not.toHaveProperty("idle");
    },
  },
  {
    name: "find returns the minimum number of instances, and none after a rollout without one",
    when: ({ min_instances }) => min_instances.supported,
    run: async (subject) => {
      const [owner, name] = [subject.account(), subject.name()];
      const image = await build(subject, owner, name, subject.sources.hello("minimum"));
      await deployed(subject, { ...templateFor(owner, name, image), minInstances: 1 });
      const { etag, serving } = await serviceOf(subject, name);
      expect(serving[0]?.template.minInstances).toBe(1);
      await deployed(subject, templateFor(owner, name, image), { etag, owner });
      expect((await serviceOf(subject, name)).serving[0]?.template).not.toHaveProperty("minInstances");
    },
  },
  {
    name: "find returns the health check, and none after a rollout without one",
    when: ({ health }) => health.supported,
    run: async (subject) => {
      const [owner, name] = [subject.account(), subject.name()];
      const image = await build(subject, owner, name, subject.sources.hello("health"));
      const feature = subject.provider.capabilities.health;
      const takesHost = feature.supported && feature.host?.supported !== false;
      const check = { path: "/", interval: 20, timeout: 4, failures: 2 };
      const health = takesHost ? { ...check, host: "example.com" } : check;
      await deployed(subject, { ...templateFor(owner, name, image), health });
      const { etag, serving } = await serviceOf(subject, name);
      expect(serving[0]?.template.health).toEqual(health);
      await deployed(subject, templateFor(owner, name, image), { etag, owner });
      expect((await serviceOf(subject, name)).serving[0]?.template).not.toHaveProperty("health");
    },
  },
  {
    name: "list returns the account's services by name, and no others",
    run: async (subject) => {
      const [owner, other] = [subject.account(), subject.account()];
      const names = [subject.name(), subject.name(), subject.name()];
      for (const [index, name] of [...names].reverse().entries()) {
        const account = index === 1 ? other : owner;
        const image = await build(subject, account, name, subject.sources.hello("listed"));
        await deployed(subject, templateFor(account, name, image));
      }
      const listed = await expectOk(subject.provider.services.list(owner));
      expect(listed.map((service) => service.name)).toEqual([names[0], names[2]].sort());
      expect(listed.every((service) => service.owner === owner)).toBe(true);
    },
  },
  {
    name: "a list with a maximum age includes the platform's own writes",
    run: async (subject) => {
      const { services } = subject.provider;
      const [owner, name] = [subject.account(), subject.name()];
      const listed = async () =>
        (await expectOk(services.list(owner, { maxAgeMs: 60_000 }))).map(({ serving }) => serving.length);
      expect(await listed()).toEqual([]);
      const image = await build(subject, owner, name, subject.sources.hello("listed"));
      await deployed(subject, templateFor(owner, name, image));
      expect(await listed()).toEqual([1]);
      const { etag } = await serviceOf(subject, name);
      await expectOk(services.remove(name, { etag, owner }));
      expect(await listed()).toEqual([]);
    },
  },
  {
    name: "an account without services has an empty list",
    run: async (subject) => expect(await expectOk(subject.provider.services.list(subject.account()))).toEqual([]),
  },
  {
    name: "the capability record is valid",
    run: async ({ provider }) => expect(capabilitiesSchema.safeParse(provider.capabilities).error).toBeUndefined(),
  },
]);

const rollouts = inGroup("rollout", [
  {
    name: "yields progress, then exactly one final event",
    run: async (subject) => {
      const [owner, name] = [subject.account(), subject.name()];
      const image = await build(subject, owner, name, subject.sources.hello("events"));
      const kinds = (await collect(rollOut(subject, templateFor(owner, name, image), "absent"))).map(
        ({ kind }) => kind,
      );
      expect(kinds.length).toBeGreaterThan(1);
      expect(kinds.slice(0, -1).every((kind) => kind === "progress")).toBe(true);
      expect(kinds.at(-1)).toBe("ready");
    },
  },
  {
    name: "while it runs, shows the template as rolling out and the previous revision as serving",
    run: async (subject) => {
      const { name, template, service, ready } = await running(subject);
      const next = { ...template, timeout: 31 };
      const seen: string[] = [];
      for await (const event of rollOut(subject, next, { etag: service.etag, owner: service.owner })) {
        const now = await serviceOf(subject, name);
        if (event.kind === "progress" && now.rollingOut !== null) {
          expect(now.rollingOut).toEqual(next);
          expect(now.serving.map(({ id }) => id)).toEqual([ready.revision]);
          seen.push("rolling");
        }
        if (event.kind === "ready")
          expect(now).toMatchObject({ rollingOut: null, serving: [{ id: event.revision, template: next }] });
      }
      expect(seen).toContain("rolling");
    },
  },
  {
    name: "gives every revision a unique name and every write a new etag",
    run: async (subject) => {
      const { name, template, service, ready } = await running(subject);
      const again = await deployed(subject, template, { etag: service.etag, owner: service.owner });
      expect(again.revision).not.toBe(ready.revision);
      expect((await serviceOf(subject, name)).etag).not.toBe(service.etag);
    },
  },
  {
    name: "a missing image fails with image_not_found and changes nothing",
    run: async (subject) => {
      const { name, template, service } = await running(subject);
      const expected = { etag: service.etag, owner: service.owner };
      await failedWith(rollOut(subject, { ...template, image: `${template.image}x` }, expected), "image_not_found");
      expect((await serviceOf(subject, name)).serving).toEqual(service.serving);
    },
  },
  {
    name: "an abort before the start ends it with interrupted, and the previous revision keeps serving",
    run: async (subject) => {
      const { name, template, service } = await running(subject);
      const expected = { etag: service.etag, owner: service.owner };
      await failedWith(rollOut(subject, template, expected, { signal: AbortSignal.abort() }), "interrupted");
      const after = await serviceOf(subject, name);
      expect(after.serving).toEqual(service.serving);
      expect(after.rollingOut).toBeNull();
    },
  },
]);

const unchanged = async (subject: ProviderSubject, before: Awaited<ReturnType<typeof running>>): Promise<void> =>
  expect(await serviceOf(subject, before.name)).toEqual(before.service);

const conditions = inGroup("conditional writes", [
  {
    name: "creating an existing service of the account fails with superseded and changes nothing",
    run: async (subject) => {
      const before = await running(subject);
      await failedWith(rollOut(subject, { ...before.template, timeout: 99 }, "absent"), "superseded");
      await unchanged(subject, before);
    },
  },
  {
    name: "creating a service with another account's name fails with name_taken and changes nothing",
    run: async (subject) => {
      const before = await running(subject);
      await failedWith(rollOut(subject, { ...before.template, owner: subject.account() }, "absent"), "name_taken");
      await unchanged(subject, before);
    },
  },
  {
    name: "an update of an older version fails with superseded and changes nothing",
    run: async (subject) => {
      const { template, service, ...rest } = await running(subject);
      await deployed(subject, template, { etag: service.etag, owner: service.owner });
      const before = { template, ...rest, service: await serviceOf(subject, rest.name) };
      await failedWith(rollOut(subject, template, { etag: service.etag, owner: service.owner }), "superseded");
      await unchanged(subject, before);
    },
  },
  {
    name: "an update of a removed service fails with deleted and creates nothing",
    run: async (subject) => {
      const { name, template, service } = await running(subject);
      const expected = { etag: service.etag, owner: service.owner };
      await expectOk(subject.provider.services.remove(name, expected));
      await failedWith(rollOut(subject, template, expected), "deleted");
      expect((await stateOf(subject, name)).kind).not.toBe("held");
    },
  },
  {
    name: "if two accounts create a service concurrently, one gets the name, and the other fails with name_taken",
    run: async (subject) => {
      const name = subject.name();
      const accounts = [subject.account(), subject.account()];
      const attempts = accounts.map(async (owner) => {
        const image = await build(subject, owner, name, subject.sources.hello(owner));
        return (await collect(rollOut(subject, templateFor(owner, name, image), "absent"))).at(-1);
      });
      const ends = await Promise.all(attempts);
      expect(ends.map((end) => end?.kind).sort()).toEqual(["failed", "ready"]);
      const loser = ends.find((end) => end?.kind === "failed");
      expect(loser).toMatchObject({ failure: { reason: "name_taken" } });
      const winner = accounts[ends.findIndex((end) => end?.kind === "ready")];
      expect((await serviceOf(subject, name)).owner).toBe(winner);
    },
  },
]);

const removals = inGroup("remove", [
  {
    name: "a removed service is neither found nor listed",
    run: async (subject) => {
      const { owner, name, service } = await running(subject);
      await expectOk(subject.provider.services.remove(name, { etag: service.etag, owner }));
      expect((await stateOf(subject, name)).kind).not.toBe("held");
      expect(await expectOk(subject.provider.services.list(owner))).toEqual([]);
    },
  },
  {
    name: "removing a missing service fails with not_found",
    run: async (subject) => {
      const expected = { etag: "none", owner: subject.account() };
      expect((await expectError(subject.provider.services.remove(subject.name(), expected))).kind).toBe("not_found");
    },
  },
  {
    name: "removing with a different etag or owner fails with conflict and removes nothing",
    run: async (subject) => {
      const before = await running(subject);
      const { name, owner, service } = before;
      const wrong = [
        { etag: `${service.etag}x`, owner },
        { etag: service.etag, owner: subject.account() },
      ];
      for (const expected of wrong)
        expect((await expectError(subject.provider.services.remove(name, expected))).kind).toBe("conflict");
      await unchanged(subject, before);
    },
  },
  {
    name: "a freed name is reserved for its account",
    when: ({ names }) => names.remembers_freed.supported,
    run: async (subject) => {
      const { owner, name, service, template } = await running(subject);
      await expectOk(subject.provider.services.remove(name, { etag: service.etag, owner }));
      expect(await stateOf(subject, name)).toEqual({ kind: "reserved", owner });
      await failedWith(rollOut(subject, { ...template, owner: subject.account() }, "absent"), "name_taken");
      await deployed(subject, template);
      expect((await serviceOf(subject, name)).owner).toBe(owner);
    },
  },
  {
    name: "a freed name is free for every account",
    when: ({ names }) => !names.remembers_freed.supported,
    run: async (subject) => {
      const { owner, name, service } = await running(subject);
      await expectOk(subject.provider.services.remove(name, { etag: service.etag, owner }));
      expect(await stateOf(subject, name)).toEqual({ kind: "free" });
    },
  },
]);

const outcome = (deployId: string, status: DeployOutcome["status"]): DeployOutcome => ({
  deployId,
  status,
  reason: status === "ERROR" ? "build_failed" : null,
  finishedAt: status === "BUILDING" ? null : "2026-01-01T00:00:00+00:00",
});

const note = (subject: ProviderSubject, owner: AccountId, name: DeploymentName, what: DeployOutcome) =>
  expectOk(subject.provider.services.noteDeploy({ name, owner }, what));

const notes = inGroup("notes", [
  {
    name: "the last note is the service's last deploy, and the etag stays the same",
    run: async (subject) => {
      const { owner, name, service } = await running(subject);
      for (const what of [outcome("first", "BUILDING"), outcome("first", "DONE"), outcome("second", "ERROR")]) {
        await note(subject, owner, name, what);
        const now = await serviceOf(subject, name);
        expect(now.lastDeploy).toEqual(what);
        expect(now.etag).toBe(service.etag);
      }
    },
  },
  {
    name: "the end of a superseded deploy does not replace the status of another deploy",
    run: async (subject) => {
      const { owner, name } = await running(subject);
      const superseded: DeployOutcome = { ...outcome("first", "ERROR"), reason: "superseded" };
      await note(subject, owner, name, outcome("first", "BUILDING"));
      await note(subject, owner, name, outcome("second", "BUILDING"));
      await note(subject, owner, name, outcome("second", "DONE"));
      await note(subject, owner, name, superseded);
      expect((await serviceOf(subject, name)).lastDeploy).toEqual(outcome("second", "DONE"));
      await note(subject, owner, name, { ...superseded, deployId: "second" });
      expect((await serviceOf(subject, name)).lastDeploy).toEqual({ ...superseded, deployId: "second" });
    },
  },
  {
    name: "a note of another account does not change the service",
    run: async (subject) => {
      const { name, service } = await running(subject);
      await note(subject, subject.account(), name, outcome("foreign", "ERROR"));
      expect((await serviceOf(subject, name)).lastDeploy).toEqual(service.lastDeploy);
    },
  },
  {
    name: "a note about a missing service creates no service",
    run: async (subject) => {
      const [owner, name] = [subject.account(), subject.name()];
      await note(subject, owner, name, outcome("early", "ERROR"));
      expect(await stateOf(subject, name)).toEqual({ kind: "free" });
    },
  },
]);

/** The contract suite of `ServicePlatform`. */
export const servicePlatformCases: readonly Case[] = [
  ...reading,
  ...rollouts,
  ...mayServeCases,
  ...instanceCases,
  ...releaseCases,
  ...conditions,
  ...removals,
  ...notes,
];
