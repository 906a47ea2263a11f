/** The contract suite of `Scheduler` for stored schedules; fires are tested with running services. */
import { expect } from "vitest";
import { everything } from "../../core/domain/logs/filter/tree.ts";
import type { CronJob } from "../../core/domain/schedules/cron-job.ts";
import type { Capabilities } from "../../core/domain/wire/capabilities.ts";
import type { ContractCase, ProviderSubject } from "./harness.ts";
import { build, deployed, expectError, expectOk, serviceOf, templateFor } from "./support.ts";

type Case = ContractCase<ProviderSubject>;

/** A job that does not fire while the suite runs. */
const jobFor = (subject: ProviderSubject, change: Partial<CronJob> = {}): CronJob => ({
  name: subject.name(),
  owner: subject.account(),
  schedule: { cron: "0 4 29 2 *", timezone: "Europe/Paris" },
  token: "a-token",
  url: "http://127.0.0.1:9",
  maxSeconds: 60,
  ...change,
});

const cases: readonly Omit<Case, "group" | "when">[] = [
  {
    name: "find returns null for a service without a schedule, and remove succeeds",
    run: async ({ provider, ...subject }) => {
      const service = { name: subject.name(), owner: subject.account() };
      expect(await expectOk(provider.scheduler.find(service))).toBeNull();
      await expectOk(provider.scheduler.remove(service));
    },
  },
  {
    name: "find returns the schedule that was put, and a later put replaces it",
    run: async (subject) => {
      const { scheduler } = subject.provider;
      const job = jobFor(subject);
      await expectOk(scheduler.put(job));
      expect(await expectOk(scheduler.find(job))).toEqual(job);
      const later = { ...job, schedule: { cron: "*/5 0 1 1 1-5", timezone: "UTC" }, maxSeconds: 7 };
      await expectOk(scheduler.put(later));
      expect(await expectOk(scheduler.find(job))).toEqual(later);
      await expectOk(scheduler.remove(job));
      expect(await expectOk(scheduler.find(job))).toBeNull();
    },
  },
  {
    name: "schedules are matched by account and name, never by name alone",
    run: async (subject) => {
      const { scheduler } = subject.provider;
      const mine = jobFor(subject);
      const theirs = { ...mine, owner: subject.account(), token: "another" };
      await expectOk(scheduler.put(mine));
      expect(await expectOk(scheduler.find(theirs))).toBeNull();
      await expectOk(scheduler.put(theirs));
      await expectOk(scheduler.remove(mine));
      expect(await expectOk(scheduler.find(theirs))).toEqual(theirs);
      await expectOk(scheduler.remove(theirs));
    },
  },
];

const fireCases: readonly Case[] = [
  {
    group: "requested fires",
    name: "a fire is logged with its id, and fails without a schedule or for another account",
    when: ({ cron }) => cron.fire.supported,
    run: async (subject) => {
      const { scheduler, logs } = subject.provider;
      if (scheduler.fire === undefined) throw new Error("the provider declares cron.fire without the method");
      const [owner, name] = [subject.account(), subject.name()];
      const image = await build(subject, owner, name, subject.sources.hello("hello"));
      const job = jobFor(subject, { name, owner });
      const ready = await deployed(subject, { ...templateFor(owner, name, image), schedule: job.schedule });
      expect((await expectError(scheduler.fire({ name, owner }, "none"))).kind).toBe("not_found");
      await expectOk(scheduler.put({ ...job, url: ready.url }));
      const other = { name, owner: subject.account() };
      expect((await expectError(scheduler.fire(other, "theirs"))).kind).toBe("not_found");
      await expectOk(scheduler.fire({ name, owner }, "mine"));
      const query = { filter: everything, limit: 100, timeoutMs: 10_000 };
      const fired = async () =>
        (await expectOk(logs.newest({ owner, service: name }, query))).entries
          .filter(({ json }) => json?.["event"] === "cron")
          .map(({ json }) => json?.["fire_id"]);
      await expect.poll(fired).not.toEqual([]);
      expect(new Set(await fired())).toEqual(new Set(["mine"]));
      await expect.poll(async () => (await serviceOf(subject, name)).lastFire ?? null).not.toBeNull();
      expect((await serviceOf(subject, name)).lastFire?.fireId).toBe("mine");
      await expectOk(scheduler.remove({ name, owner }));
    },
  },
];

/** The contract suite of `Scheduler`. */
export const schedulerCases: readonly Case[] = [
  ...cases.map((one) => ({
    group: "schedules",
    when: ({ cron }: Capabilities) => cron.schedules.supported,
    ...one,
  })),
  ...fireCases,
];
