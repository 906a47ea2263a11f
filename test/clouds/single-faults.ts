/**
 * Injects a fault at each call of a deploy, a delete or a volume's delete, on a cloud's whole provider. The command
 * succeeds, or ends with a last record or an error that has a cause. The previous revision still serves, and repeating
 * the command completes it.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { randomIds } from "../../adapters/shared/runtime/system.ts";
import type { FaultKind } from "../fakes/faults.ts";
import { createFastClock } from "../support/clocks/fast-clock.ts";
import { silentLogger } from "../support/logs/silent-logger.ts";
import { MATRIX_MS } from "../support/vitest/runs.ts";
import { sampled } from "../support/vitest/sampled.ts";
import { type Cloud, callsOf, clearFaults, type Fakes, openPlatform } from "./cloud.ts";
import { firstDeclaration, secondDeclaration, stepsOn } from "./deploy-steps.ts";

const kinds: readonly FaultKind[] = ["permission_denied", "reply_lost", "unavailable"];
/** The number of concurrent workers, each on its own account. A deploy spends most of its time waiting. */
const WORKERS = 3;
const options = { timeout: MATRIX_MS };

type Calls = Readonly<Record<string, readonly string[]>>;

export interface FaultedCalls {
  /** The fakes that are called by a deploy that creates a volume and sets a schedule. */
  readonly deploy: readonly string[];
}

const openWorker = async <F extends Fakes>(cloud: Cloud<F>) => {
  const deps = { clock: createFastClock(100), ids: randomIds, logger: silentLogger };
  const platform = await openPlatform(cloud, "simulated", deps);
  return { ...stepsOn(platform.controlPlane), fakes: platform.fakes, close: platform.close };
};

type Worker = Awaited<ReturnType<typeof openWorker<Fakes>>>;

export const singleFaultTests = <F extends Fakes>(cloud: Cloud<F>, expected: FaultedCalls): void => {
  let workers: readonly Worker[] = [];
  beforeAll(async () => {
    workers = await Promise.all(Array.from({ length: WORKERS }, () => openWorker(cloud)));
  });
  afterAll(async () => {
    for (const { close } of workers) await close();
  });

  let round = 0;

  /** Injects each kind of fault at each call of some work, on a new subject each time. Reports all failures. */
  const eachFault = async <T>(
    calls: Calls,
    prepare: (worker: Worker, name: string) => Promise<T>,
    act: (worker: Worker, name: string, what: string, kind: FaultKind, prepared: T) => Promise<void>,
  ): Promise<void> => {
    const all = Object.entries(calls).flatMap(([fake, log]) =>
      log.flatMap((method, index) => kinds.map((kind) => ({ fake, nth: index + 1, method, kind }))),
    );
    // Every seventh: with three kinds per call, the kind changes from one call to the next.
    const left = [...sampled(all, 7)];
    const wrong: string[] = [];
    const work = async (worker: Worker): Promise<void> => {
      for (let one = left.shift(); one !== undefined; one = left.shift()) {
        const { fake, nth, method, kind } = one;
        const what = `${kind} at ${fake} ${nth} (${method})`;
        const name = `fault-${++round}`;
        const prepared = await prepare(worker, name);
        clearFaults(worker.fakes);
        worker.fakes.faults[fake]?.inject({ nth, kind });
        await act(worker, name, what, kind, prepared).catch((error: Error) => wrong.push(`${what}: ${error.message}`));
        clearFaults(worker.fakes);
      }
    };
    await Promise.all(workers.map(work));
    expect(wrong).toEqual([]);
  };

  describe(`a fault at any call of ${cloud.name}`, () => {
    test("in a deploy that creates a volume and sets a schedule", options, async () => {
      const [worker] = workers as [Worker];
      await worker.deployed("counted", firstDeclaration);
      const calls = await callsOf(worker.fakes, () => worker.deployed("counted", secondDeclaration("counted")));
      expect(new Set(Object.keys(calls))).toEqual(new Set(expected.deploy));
      await eachFault(
        calls,
        async ({ deployed, shown }, name) => {
          await deployed(name, firstDeclaration);
          return shown(name);
        },
        async ({ fakes, deploy, deployed, shown, volumesOf, remove }, name, what, kind, before) => {
          const end = (await deploy(name, secondDeclaration(name))).at(-1);
          clearFaults(fakes);
          const now = await shown(name);
          const words = `${what}: ${JSON.stringify(end)}`;
          if (end?.status === "DONE") expect(now, words).toMatchObject({ status: "READY", timeout: 11 });
          else {
            expect(kind, words).not.toBe("unavailable");
            if (end !== undefined) expect(end, words).toMatchObject({ status: "ERROR", reason: expect.any(String) });
            expect(end?.reason, words).not.toBe("internal");
            // The schedule is set after the rollout.
            if (end?.reason === "schedule_failed") expect(now, words).toMatchObject({ status: "READY" });
            else expect(now, words).toMatchObject({ status: "READY", timeout: 10, revision: before?.revision });
          }
          await deployed(name, secondDeclaration(name));
          expect(await shown(name), words).toMatchObject({ timeout: 11, schedule: { cron: "0 3 * * *" } });
          expect(await volumesOf(name), words).toEqual([`${name}-data`]);
          // Works whatever happened before, and makes room in the account for the next round.
          expect((await remove(name)).isOk(), words).toBe(true);
        },
      );
    });

    test("in a delete", options, async () => {
      const prepare = async ({ deployed, fakes }: Worker, name: string) => {
        await deployed(name, secondDeclaration(name));
        expect(fakes.jobsOf(name)).toHaveLength(1);
      };
      const [worker] = workers as [Worker];
      await prepare(worker, "removed");
      const calls = await callsOf(worker.fakes, () => worker.remove("removed"));
      expect(Object.values(calls).flat().length).toBeGreaterThan(2);
      await eachFault(calls, prepare, async ({ fakes, remove, shown, volumesOf }, name, what) => {
        const done = await remove(name);
        clearFaults(fakes);
        if (done.isErr()) {
          expect(["unavailable", "conflict"], what).toContain(done.error.kind);
          const again = await remove(name);
          if (again.isErr()) expect(again.error.kind, what).toBe("not_found");
        }
        expect(await shown(name), what).toBeUndefined();
        // No job may fire for a deleted service.
        expect(fakes.jobsOf(name), what).toEqual([]);
        expect(await volumesOf(name), what).toEqual([`${name}-data`]);
      });
    });

    test("in a volume's delete", options, async () => {
      const prepare = async ({ createVolume }: Worker, name: string) =>
        expect((await createVolume(name, "data")).isOk()).toBe(true);
      const [worker] = workers as [Worker];
      await prepare(worker, "emptied");
      const calls = await callsOf(worker.fakes, () => worker.deleteVolume("emptied", "data"));
      expect(Object.values(calls).flat().length).toBeGreaterThan(4);
      await eachFault(calls, prepare, async ({ fakes, deleteVolume, volumesOf, trashOf }, name, what) => {
        const done = await deleteVolume(name, "data");
        clearFaults(fakes);
        if (done.isErr()) {
          expect(done.error.kind, what).toBe("unavailable");
          const again = await deleteVolume(name, "data");
          if (again.isErr()) expect(again.error.kind, what).toBe("not_found");
        }
        expect(await volumesOf(name), what).toEqual([]);
        expect(await trashOf(name), what).toEqual(["data"]);
      });
    });
  });
};
