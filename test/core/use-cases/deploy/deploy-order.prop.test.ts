/**
 * Deploys, rollbacks, cancels and deletes at any moment, on a provider whose calls may be slow, fail before they act,
 * or lose their response. Every stream must be valid, and every promise about it must hold.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { DeployEvent } from "../../../../core/domain/deploy/events.ts";
import { type Instant, parseInstant } from "../../../../core/domain/wire/instant.ts";
import { whileTicking } from "../../../simulation/ticking.ts";
import { type FaultSchedule, faultSchedule, startWithFaults } from "../../../support/providers/fault-schedule.ts";
import type { MemoryPlatform } from "../../../support/providers/memory-platform.ts";
import { runs } from "../../../support/vitest/runs.ts";

const SECOND = 1_000_000_000n;

type Account = "acme" | "other";

type Action = { readonly at: number } & (
  | { readonly act: "deploy"; readonly name: string; readonly account: Account }
  | { readonly act: "rollback"; readonly name: string; readonly account: Account }
  | { readonly act: "cancel" | "follow"; readonly which: number; readonly after: number }
  | { readonly act: "delete"; readonly name: string; readonly account: Account }
);

const name = fc.constantFrom("app", "app", "other");
const account = fc.constantFrom<Account>("acme", "acme", "other");
const at = fc.oneof(fc.integer({ min: 0, max: 60_000 }), fc.integer({ min: 0, max: 1_200_000 }));
const which = fc.nat({ max: 5 });

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ act: fc.constant("deploy" as const), at, name, account }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("rollback" as const), at, name, account }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("cancel" as const), at, which, after: fc.constant(0) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("follow" as const), at, which, after: fc.nat({ max: 8 }) }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("delete" as const), at, name, account }) },
);

interface Observed {
  readonly account: Account;
  readonly name: string;
  readonly deployId: string;
  readonly act: "deploy" | "rollback";
  readonly records: readonly DeployEvent[];
}

interface History {
  /** In the order of acceptance. */
  readonly deploys: readonly Observed[];
  /** When the build of a deploy began. */
  readonly builds: ReadonlyMap<string, Instant>;
  readonly platform: MemoryPlatform;
}

const finalOf = ({ records }: Observed): DeployEvent => records.at(-1) as DeployEvent;
const timeOf = (record: DeployEvent): Instant => parseInstant(record.time) as Instant;

const live = async (actions: readonly Action[], schedule: FaultSchedule): Promise<History> => {
  const builds = new Map<string, Instant>();
  const platform = startWithFaults(schedule, (deployId, now) => builds.set(deployId, now));
  const { clock, controlPlane, principal } = platform;
  const taken: (Omit<Observed, "records"> & { records: Promise<DeployEvent[]> })[] = [];
  const start = ({ act, name, account }: Action & { readonly act: "deploy" | "rollback" }) =>
    act === "deploy"
      ? platform.submit({ function_name: name }, account)
      : controlPlane.rollback(principal(account), { name, release: 1 });
  const act = async (one: Action): Promise<void> => {
    await clock.sleep(one.at);
    if (one.act === "deploy" || one.act === "rollback") {
      const run = await start(one);
      if (run.isOk())
        taken.push({
          account: one.account,
          name: one.name,
          act: one.act,
          deployId: run.value.deployId,
          records: Array.fromAsync(run.value.follow()),
        });
      return;
    }
    if (one.act === "delete") {
      const mine = taken.filter((run) => run.account === one.account && run.name === one.name);
      const removed = await controlPlane.deleteDeployment(principal(one.account), { name: one.name });
      if (removed.isErr()) return;
      const now = clock.now();
      for (const run of mine) expect(timeOf((await run.records).at(-1) as DeployEvent) <= now).toBe(true);
      return;
    }
    const run = taken[one.which % Math.max(1, taken.length)];
    if (run === undefined) return;
    if (one.act === "cancel") {
      const cancelled = await controlPlane.cancelDeploy(principal(run.account), { deploy_id: run.deployId });
      const last = (await run.records).at(-1);
      expect(cancelled.isOk()).toBe(last?.reason === "interrupted");
    } else {
      const from = { deploy_id: run.deployId, after: one.after };
      const found = await controlPlane.resumeDeploy(principal(run.account), from);
      // The control plane remembers an ended deploy for an hour; these runs are shorter.
      const rest = await Array.fromAsync(found._unsafeUnwrap().run.follow(one.after));
      expect(rest).toEqual((await run.records).slice(one.after));
    }
  };
  const lived = Promise.all(actions.map(act)).then(() =>
    Promise.all(taken.map(async (run) => ({ ...run, records: await run.records }))),
  );
  const deploys = await whileTicking(clock, lived, 60_000);
  // Calls that were abandoned after their deadline end too.
  await clock.advance(3_600_000);
  return { deploys, builds, platform };
};

const checkStream = ({ act, records }: Observed): void => {
  const letters = records
    .map(({ status }) => ({ BUILDING: "b", DEPLOYING: "d", DONE: "D", ERROR: "E" })[status])
    .join("");
  expect(letters).toMatch(act === "deploy" ? /^b+(?:E|d+[DE])$/ : /^d+[DE]$/);
  expect(records.map(({ seq }) => seq)).toEqual(records.map((_, index) => index + 1));
  for (const [index, record] of records.slice(1).entries()) {
    const silence = timeOf(record) - timeOf(records[index] as DeployEvent);
    expect(silence).toBeGreaterThanOrEqual(0n);
    expect(silence).toBeLessThanOrEqual(15n * SECOND);
  }
  for (const record of records) {
    expect(record.reason !== undefined).toBe(record.status === "ERROR");
    expect(record.url !== undefined).toBe(record.status === "DONE");
  }
};

/** Deploys of one name, in order of arrival: none builds before all earlier ones have ended. */
const checkOrder = ({ deploys, builds }: History): void => {
  for (const [index, one] of deploys.entries()) {
    const begun = builds.get(one.deployId);
    if (begun === undefined) continue;
    for (const earlier of deploys.slice(0, index))
      if (earlier.name === one.name && earlier.act === "deploy") expect(timeOf(finalOf(earlier)) <= begun).toBe(true);
  }
};

/** The newest release is the serving revision, and no two releases of a sequence have the same number. */
const checkReleases = ({ platform }: History): void => {
  for (const [, { serving, releases }] of platform.memory.snapshot().services) {
    expect(releases[0]?.revision).toBe(serving?.id);
    const numbers = releases.map(({ release }) => release);
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => b - a));
  }
};

/** A serving revision was reported as DONE unless the provider's response was lost, and no rollout stays pending. */
const checkTraffic = ({ deploys, platform }: History, { faults }: FaultSchedule): void => {
  const done = new Set(deploys.filter((one) => finalOf(one).status === "DONE").map(({ deployId }) => deployId));
  const answersLost = faults.some(({ method, fault: { after } }) => method === "rollout" && after === true);
  for (const [, { serving, rollingOut }] of platform.memory.snapshot().services) {
    expect(rollingOut).toBeNull();
    if (serving !== null && !answersLost) expect(done).toContain(serving.document.metadata.deployId);
  }
};

test("every stream is valid, whatever the faults", async () => {
  const ends = new Map<string, number>();
  let rollbacks = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 8 }), faultSchedule(), async (actions, schedule) => {
      const history = await live(actions, schedule);
      for (const one of history.deploys) {
        checkStream(one);
        const { status, reason = status } = finalOf(one);
        ends.set(reason, (ends.get(reason) ?? 0) + 1);
      }
      checkOrder(history);
      checkTraffic(history, schedule);
      checkReleases(history);
      rollbacks += history.deploys.filter((one) => one.act === "rollback" && finalOf(one).status === "DONE").length;
      expect(history.platform.kept.size).toBe(0);
    }),
    runs(300),
  );
  // The test is meaningful only if rollbacks and faults were frequent.
  expect(rollbacks).toBeGreaterThan(0);
  for (const end of [
    "DONE",
    "interrupted",
    "deleted",
    "build_timeout",
    "rollout_timeout",
    "provider_unavailable",
    "crashed",
  ])
    expect([...ends.keys()]).toContain(end);
});
