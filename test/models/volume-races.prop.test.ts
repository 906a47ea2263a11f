/**
 * Concurrent calls on one volume, with random delays. If two calls conflict, one must fail. No deployment may serve
 * without its volume, and no object may be lost.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { whileTicking } from "../simulation/ticking.ts";
import { damageOf, deploying, filled, type Race, raceOver } from "../support/providers/volume-races.ts";
import { runs, within } from "../support/vitest/runs.ts";

const pauses = fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 24 });
const start = fc.integer({ min: 0, max: 2000 });

/** Starts each call after its delay in milliseconds, and waits for all of them. */
const together = async <T extends readonly unknown[]>(
  { slow: { clock } }: Race,
  starts: readonly number[],
  ...calls: { [K in keyof T]: () => PromiseLike<T[K]> }
): Promise<T> => {
  const running = calls.map(async (call, index) => {
    await clock.sleep(starts[index] ?? 0);
    return call();
  });
  return (await whileTicking(clock, Promise.all(running))) as unknown as T;
};

const racing = (check: (race: Race, starts: number[]) => Promise<void>) => async () => {
  await fc.assert(
    fc.asyncProperty(pauses, fc.array(start, { minLength: 3, maxLength: 3 }), async (delays, starts) => {
      const race = raceOver(delays);
      try {
        await check(race, starts);
      } finally {
        await race.quick.memory.close();
      }
    }),
    runs(100),
  );
};

const deletion = ({ slow: { controlPlane, principal } }: Race) =>
  controlPlane.deleteVolume(principal(), { name: "data" });
const data = ["data"];
const slowTest = { timeout: within() };

describe("concurrent calls", () => {
  test(
    "two deploys that mount one new volume share it, and one reports its creation",
    slowTest,
    racing(async (race, starts) => {
      const [one, other] = await together(
        race,
        starts,
        () => deploying(race.slow, "app", data),
        () => deploying(race.slow, "web", data),
      );
      expect([one?.at(-1)?.status, other?.at(-1)?.status]).toEqual(["DONE", "DONE"]);
      expect([...(one ?? []), ...(other ?? [])].filter(({ volume }) => volume === "data")).toHaveLength(1);
      expect(race.quick.memory.snapshot().volumes.size).toBe(1);
      expect(damageOf(race, [])).toEqual([]);
    }),
  );

  test(
    "a deletion and a deploy that mounts the volume must not both succeed on it",
    slowTest,
    racing(async (race, starts) => {
      const bucket = await filled(race, "data");
      const [gone, records] = await together(
        race,
        starts,
        () => deletion(race),
        () => deploying(race.slow, "app", data),
      );
      const last = records?.at(-1);
      const made = records?.some(({ volume }) => volume === "data") === true;
      expect(damageOf(race, [bucket])).toEqual([]);
      if (gone.isErr()) expect([gone.error.kind, last?.status]).toEqual(["conflict", "DONE"]);
      // If the volume was deleted first, the deploy creates a new one and reports it.
      else if (!made) expect(last?.reason).toBe("volume_unavailable");
      if (gone.isErr()) expect(made).toBe(false);
    }),
  );

  test(
    "a deletion must not fail unless both deploys succeed",
    slowTest,
    racing(async (race, starts) => {
      const bucket = await filled(race, "data");
      const [gone, one, other] = await together(
        race,
        starts,
        () => deletion(race),
        () => deploying(race.slow, "app", data),
        () => deploying(race.slow, "web", data),
      );
      expect(damageOf(race, [bucket])).toEqual([]);
      if (gone.isErr()) expect([one?.at(-1), other?.at(-1)]).toMatchObject([{ status: "DONE" }, { status: "DONE" }]);
    }),
  );

  test(
    "one of two deletions succeeds",
    slowTest,
    racing(async (race, starts) => {
      const bucket = await filled(race, "data");
      const ends = await together(
        race,
        starts,
        () => deletion(race),
        () => deletion(race),
      );
      const kinds = ends.map((end) => (end.isOk() ? "ok" : end.error.kind)).sort();
      expect(["conflict", "not_found"]).toContain(kinds[0]);
      expect(kinds[1]).toBe("ok");
      expect(damageOf(race, [bucket])).toEqual([]);
    }),
  );

  test(
    "a restore and a create leave one volume with the name",
    slowTest,
    racing(async (race, starts) => {
      const bucket = await filled(race, "data");
      const { controlPlane, principal } = race.slow;
      (await whileTicking(race.slow.clock, deletion(race)))._unsafeUnwrap();
      const [back, made] = await together(
        race,
        starts,
        () => controlPlane.restoreVolume(principal(), { name: "data" }),
        () => controlPlane.createVolume(principal(), { name: "data" }),
      );
      expect(damageOf(race, [bucket])).toEqual([]);
      expect(made._unsafeUnwrap().created).toBe(back.isErr());
      if (back.isErr()) expect(back.error.kind).toBe("conflict");
    }),
  );
});

const kind = fc.constantFrom("deploy", "deploy", "delete", "delete", "restore", "create", "remove");
const action = fc.record({
  kind,
  at: fc.integer({ min: 0, max: 6000 }),
  name: fc.constantFrom("app", "web"),
  volumes: fc.constantFrom(["data"], ["data"], ["logs"], ["data", "logs"], []),
});

test("concurrent calls never lose an object or leave a deployment without its volume", slowTest, async () => {
  await fc.assert(
    fc.asyncProperty(pauses, fc.array(action, { minLength: 2, maxLength: 9 }), async (delays, actions) => {
      const race = raceOver(delays);
      const buckets = [await filled(race, "data"), await filled(race, "logs")];
      const { controlPlane, principal, clock } = race.slow;
      const act = async ({ kind, at, name, volumes: [volume = "data", ...more] }: (typeof actions)[number]) => {
        await clock.sleep(at);
        if (kind === "deploy") return deploying(race.slow, name, volume === undefined ? [] : [volume, ...more]);
        if (kind === "delete") return controlPlane.deleteVolume(principal(), { name: volume });
        if (kind === "restore") return controlPlane.restoreVolume(principal(), { name: volume });
        if (kind === "create") return controlPlane.createVolume(principal(), { name: volume });
        return controlPlane.deleteDeployment(principal(), { name });
      };
      await whileTicking(clock, Promise.all(actions.map(act)));
      await race.quick.memory.close();
      expect(damageOf(race, buckets)).toEqual([]);
    }),
    runs(150),
  );
});
