/**
 * Whichever single call of a volume's making, deletion or restore fails, before it acts or by losing its answer: the
 * command ends with a cause, a repeat completes it, and nothing is left that nobody finds.
 */
import { Storage } from "@google-cloud/storage";
import { describe, expect, test } from "vitest";
import type { GcpVolumes } from "../../../../adapters/gcp/storage/volume-store.ts";
import { createManualClock, type ManualClock } from "../../../../adapters/memory/index.ts";
import type { ControlPlane } from "../../../../core/control-plane.ts";
import type { Principal } from "../../../../core/domain/account.ts";
import type { ControlPlaneError } from "../../../../core/errors.ts";
import type { Result } from "../../../../core/result.ts";
import type { FaultKind } from "../../../fakes/faults.ts";
import { type FakeStorage, startFakeStorage } from "../../../fakes/gcp/storage/index.ts";
import { startMemory, whileTicking } from "../../../support/memory-platform.ts";
import { sampled } from "../../../support/sampled.ts";
import { volumesOver } from "./subject.ts";

interface Stage {
  readonly fake: FakeStorage;
  readonly clock: ManualClock;
  readonly volumes: GcpVolumes;
  readonly controlPlane: ControlPlane;
  readonly acme: Principal;
}

type Command = (stage: Stage) => Promise<Result<unknown, ControlPlaneError>>;

const name = "data";
const objects = ["a", "b/c", "d"];

const setStage = async (): Promise<Stage & AsyncDisposable> => {
  const clock = createManualClock();
  const fake = await startFakeStorage({ clock });
  const volumes = volumesOver(fake, { clock });
  const { controlPlane, principal, memory } = startMemory({ clock, around: () => ({ volumes }) });
  const close = async () => {
    await whileTicking(clock, volumes.idle());
    await Promise.all([fake.close(), memory.close()]);
  };
  return { fake, clock, volumes, controlPlane, acme: principal(), [Symbol.asyncDispose]: close };
};

const run = (stage: Stage, command: Command) => whileTicking(stage.clock, command(stage));

const create: Command = async ({ controlPlane, acme }) => await controlPlane.createVolume(acme, { name });
const remove: Command = async ({ controlPlane, acme }) => await controlPlane.deleteVolume(acme, { name });
const restore: Command = async ({ controlPlane, acme }) => await controlPlane.restoreVolume(acme, { name });

const fill = async ({ fake }: Stage): Promise<void> => {
  const [bucket] = fake.world.live.keys().filter((one) => one.startsWith("ps-"));
  if (bucket === undefined) throw new Error("there is no volume");
  const storage = new Storage(fake.storageClientOptions);
  await Promise.all(objects.map((path) => storage.bucket(bucket).file(path).save(path, { resumable: false })));
};

const filled = async (stage: Stage): Promise<void> => {
  (await run(stage, create))._unsafeUnwrap();
  await fill(stage);
};

const trashed = async (stage: Stage): Promise<void> => {
  await filled(stage);
  (await run(stage, remove))._unsafeUnwrap();
};

const shown = async (stage: Stage) => {
  const { controlPlane, acme, clock } = stage;
  const volumes = (await whileTicking(clock, controlPlane.listVolumes(acme)))._unsafeUnwrap();
  const trash = (await whileTicking(clock, controlPlane.listTrash(acme)))._unsafeUnwrap();
  return { volumes, trash };
};

/** One volume lives and nothing else is there, and all of its objects are in it. */
const livesWith = async (stage: Stage, paths: readonly string[]): Promise<void> => {
  const { volumes, trash } = await shown(stage);
  expect([volumes.map((one) => one.name), trash]).toEqual([[name], []]);
  const { live, deleted } = stage.fake.world;
  expect([...live.keys()].filter((one) => one.startsWith("ps-"))).toEqual([volumes[0]?.id]);
  expect(deleted.filter((one) => one.labels["portside-state"] !== "making")).toEqual([]);
  const bucket = live.get(volumes[0]?.id ?? "");
  expect([...(bucket?.objects.keys() ?? [])].sort()).toEqual([...paths].sort());
};

/** Nothing lives, and the one in the trash comes back with its objects. */
const isInTrash = async (stage: Stage): Promise<void> => {
  const { volumes, trash } = await shown(stage);
  expect([volumes, trash.map((one) => one.name)]).toEqual([[], [name]]);
  expect([...stage.fake.world.live.keys()].filter((one) => one.startsWith("ps-"))).toEqual([]);
  (await run(stage, restore))._unsafeUnwrap();
  await livesWith(stage, objects);
};

const scenes: readonly {
  readonly what: string;
  readonly prepare: (stage: Stage) => Promise<void>;
  readonly command: Command;
  readonly check: (stage: Stage) => Promise<void>;
}[] = [
  { what: "making", prepare: async () => undefined, command: create, check: (stage) => livesWith(stage, []) },
  { what: "deletion", prepare: filled, command: remove, check: isInTrash },
  { what: "restore", prepare: trashed, command: restore, check: (stage) => livesWith(stage, objects) },
];

/** How many calls the command takes where nothing fails. */
const callsOf = async (prepare: (stage: Stage) => Promise<void>, command: Command): Promise<number> => {
  await using stage = await setStage();
  await prepare(stage);
  stage.fake.faults.clear();
  (await run(stage, command))._unsafeUnwrap();
  return stage.fake.faults.log.length;
};

const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index + 1);

const kinds: readonly FaultKind[] = ["unavailable", "permission_denied", "resource_exhausted", "reply_lost"];

for (const { what, prepare, command, check } of scenes)
  describe(`a fault in a volume's ${what}`, () => {
    for (const kind of kinds)
      test(`${kind} at any call`, { timeout: 120_000 }, async () => {
        let failures = 0;
        const calls = await callsOf(prepare, command);
        const tried = sampled(upTo(calls), 3);
        for (const nth of tried) {
          await using stage = await setStage();
          await prepare(stage);
          stage.fake.faults.clear();
          stage.fake.faults.inject({ nth, kind });
          const first = await run(stage, command);
          const where = `${kind} at call ${nth}, ${stage.fake.faults.log[nth - 1]}`;
          if (first.isErr()) {
            failures += 1;
            expect(first.error, where).toMatchObject({ kind: "unavailable", message: expect.stringMatching(/Google/) });
            const second = await run(stage, command);
            expect(second.isOk() ? "ok" : second.error, where).toBe("ok");
          }
          await check(stage);
        }
        expect(calls).toBeGreaterThan(5);
        // The platform's own rights are for somebody to look at; everything else passes by itself.
        if (kind === "permission_denied") expect(failures).toBeGreaterThan(tried.length / 2);
        else expect(failures).toBe(0);
      });

    test("a stop at any call", { timeout: 120_000 }, async () => {
      const calls = await callsOf(prepare, command);
      for (const nth of sampled(upTo(calls), 3)) {
        await using stage = await setStage();
        await prepare(stage);
        const { faults } = stage.fake;
        faults.clear();
        for (let later = nth; later < nth + 300; later++) faults.inject({ nth: later, kind: "unavailable" });
        expect((await run(stage, command)).isErr()).toBe(true);
        const where = `a stop at call ${nth}, ${faults.log[nth - 1]}`;
        faults.clear();
        // Long enough for what is given up by then.
        await stage.clock.advance(180_000);
        await shown(stage);
        await whileTicking(stage.clock, stage.volumes.idle());
        const again = await run(stage, command);
        // What was deleted and is on its way into the trash is not there any more.
        if (!(command === remove && again.isErr() && again.error.kind === "not_found"))
          expect(again.isOk() ? "ok" : again.error, where).toBe("ok");
        await check(stage);
      }
    });
  });
