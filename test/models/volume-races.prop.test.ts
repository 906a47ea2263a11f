/**
 * Calls about one volume that meet, in every order that slow answers can bring: one of them is refused where both
 * cannot be, nothing serves without its volume, and no object is lost.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { whileTicking } from "../simulation/ticking.ts";
import { damageOf, deploying, filled, type Race, raceOver } from "../support/providers/volume-races.ts";
import { runs, within } from "../support/vitest/runs.ts";

const pauses = fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 24 });
const start = fc.integer({ min: 0, max: 2000 });

/** Lets calls begin so many milliseconds from now, and waits for all of them. */
const together = async <T extends readonly unknown[]>(
  { slow: { clock } }: Race,
  starts: readonly number[],
  ...calls: { [K in keyof T]: () => PromiseLike<T[K]> }
): Promise<T> => {
  const begun = calls.map(async (call, index) => {
    await clock.sleep(starts[index] ?? 0);
    return call();
  });
  return (await whileTicking(clock, Promise.all(begun))) as unknown as T;
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

describe("of calls that meet", () => {
  test(
    "two deploys that name one new volume share it, and one has made it",
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
    "a deletion and a deploy that mounts the volume do not both have it",
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
      // After the deletion a deploy has a new volume, and says so.
      else if (!made) expect(last?.reason).toBe("volume_unavailable");
      if (gone.isErr()) expect(made).toBe(false);
    }),
  );

  test(
    "no client receives a deletion of a volume that stays",
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
    "of two deletions one has deleted",
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
    "a restore and a create leave one volume of the name",
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

test("whatever meets, nothing serves without its volume, and nothing is lost", slowTest, async () => {
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
