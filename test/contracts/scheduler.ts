/** The contract suite of `Scheduler` for stored schedules; fires are tested with running services. */
import { expect } from "vitest";
import type { CronJob } from "../../core/domain/schedules/cron-job.ts";
import type { ContractCase, ProviderSubject } from "./harness.ts";
import { expectOk } from "./support.ts";

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

/** The contract suite of `Scheduler`. */
export const schedulerCases: readonly Case[] = cases.map((one) => ({
  group: "schedules",
  when: ({ cron }) => cron.schedules.supported,
  ...one,
}));
