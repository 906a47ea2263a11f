/**
 * Any single call of a volume's creation, deletion or restore fails, before it acts or by losing its response. The
 * command must report the cause, a repeat must complete it, and nothing may leak. For the volumes of a cloud.
 */
import { describe, expect, test } from "vitest";
import type { ManualClock } from "../../../adapters/memory/index.ts";
import type { ControlPlane } from "../../../core/control-plane.ts";
import type { Principal } from "../../../core/domain/accounts/account.ts";
import type { ControlPlaneError } from "../../../core/errors.ts";
import type { Result } from "../../../core/result.ts";
import type { FaultKind, Faults } from "../../fakes/faults.ts";
import { whileTicking } from "../../simulation/ticking.ts";
import { MATRIX_MS } from "../vitest/runs.ts";
import { sampled } from "../vitest/sampled.ts";

export interface VolumeStage extends AsyncDisposable {
  readonly faults: Faults;
  readonly clock: ManualClock;
  readonly controlPlane: ControlPlane;
  readonly acme: Principal;
  /** The methods that a command calls only to clean up. Their failure does not fail the command. */
  readonly cleanUps?: readonly string[];
  /** Resolves when the store's background work has finished. */
  idle(): Promise<void>;
  /** Puts these objects into the only volume. */
  fill(paths: readonly string[]): Promise<void>;
  /** The paths of the bucket's objects; checks that nothing else exists. */
  onlyBucket(id: string): readonly string[];
  /** Checks that nothing of a volume in the trash is reachable. */
  outOfReach(): void;
}

type Command = (stage: VolumeStage) => Promise<Result<unknown, ControlPlaneError>>;

const name = "data";
const objects = ["a", "b/c", "d"];

const run = (stage: VolumeStage, command: Command) => whileTicking(stage.clock, command(stage));

const create: Command = async ({ controlPlane, acme }) => await controlPlane.createVolume(acme, { name });
const remove: Command = async ({ controlPlane, acme }) => await controlPlane.deleteVolume(acme, { name });
const restore: Command = async ({ controlPlane, acme }) => await controlPlane.restoreVolume(acme, { name });

const filled = async (stage: VolumeStage): Promise<void> => {
  (await run(stage, create))._unsafeUnwrap();
  await stage.fill(objects);
};

const trashed = async (stage: VolumeStage): Promise<void> => {
  await filled(stage);
  (await run(stage, remove))._unsafeUnwrap();
};

const shown = async (stage: VolumeStage) => {
  const { controlPlane, acme, clock } = stage;
  const volumes = (await whileTicking(clock, controlPlane.listVolumes(acme)))._unsafeUnwrap();
  const trash = (await whileTicking(clock, controlPlane.listTrash(acme)))._unsafeUnwrap();
  return { volumes, trash };
};

/** Checks that exactly one volume exists, with all of its objects. */
const livesWith = async (stage: VolumeStage, paths: readonly string[]): Promise<void> => {
  const { volumes, trash } = await shown(stage);
  expect([volumes.map((one) => one.name), trash]).toEqual([[name], []]);
  expect([...stage.onlyBucket(volumes[0]?.id ?? "")].sort()).toEqual([...paths].sort());
};

/** Checks that no volume exists, and that the one in the trash can be restored with its objects. */
const isInTrash = async (stage: VolumeStage): Promise<void> => {
  const { volumes, trash } = await shown(stage);
  expect([volumes, trash.map((one) => one.name)]).toEqual([[], [name]]);
  await whileTicking(stage.clock, stage.idle());
  stage.outOfReach();
  (await run(stage, restore))._unsafeUnwrap();
  await livesWith(stage, objects);
};

const scenes: readonly {
  readonly what: string;
  readonly prepare: (stage: VolumeStage) => Promise<void>;
  readonly command: Command;
  readonly check: (stage: VolumeStage) => Promise<void>;
}[] = [
  { what: "creation", prepare: async () => undefined, command: create, check: (stage) => livesWith(stage, []) },
  { what: "deletion", prepare: filled, command: remove, check: isInTrash },
  { what: "restore", prepare: trashed, command: restore, check: (stage) => livesWith(stage, objects) },
];

const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index + 1);

const kinds: readonly FaultKind[] = ["unavailable", "permission_denied", "resource_exhausted", "reply_lost"];

type Scene = (typeof scenes)[number];
type SetStage = () => Promise<VolumeStage>;

/** Returns the number of calls that the command makes without faults. */
const callsOf = async ({ prepare, command }: Scene, setStage: SetStage): Promise<number> => {
  await using stage = await setStage();
  await prepare(stage);
  stage.faults.clear();
  (await run(stage, command))._unsafeUnwrap();
  return stage.faults.log.length;
};

/** Runs the command with one fault, and repeats it if it fails. Returns whether it failed. */
const faultAt = async (
  { prepare, command, check }: Scene,
  setStage: SetStage,
  fault: { readonly nth: number; readonly kind: FaultKind },
  cloud: RegExp,
): Promise<boolean> => {
  await using stage = await setStage();
  await prepare(stage);
  stage.faults.clear();
  stage.faults.inject(fault);
  const first = await run(stage, command);
  const where = `${fault.kind} at call ${fault.nth}, ${stage.faults.log[fault.nth - 1]}`;
  if (first.isErr()) {
    expect(first.error, where).toMatchObject({ kind: "unavailable", message: expect.stringMatching(cloud) });
    const second = await run(stage, command);
    expect(second.isOk() ? "ok" : second.error, where).toBe("ok");
  }
  await check(stage);
  return first.isErr();
};

const stopAt = async ({ prepare, command, check }: Scene, setStage: SetStage, nth: number): Promise<void> => {
  await using stage = await setStage();
  await prepare(stage);
  const { faults } = stage;
  faults.clear();
  for (let later = nth; later < nth + 300; later++) faults.inject({ nth: later, kind: "unavailable" });
  const first = await run(stage, command);
  const stopped = faults.log[nth - 1] ?? "";
  const where = `a stop at call ${nth}, ${stopped}`;
  expect(first.isErr(), where).toBe(stage.cleanUps?.includes(stopped) !== true);
  faults.clear();
  // Long enough for the abandoned calls to end.
  await stage.clock.advance(180_000);
  await shown(stage);
  await whileTicking(stage.clock, stage.idle());
  const again = await run(stage, command);
  // A deleted volume that is being moved to the trash is not listed.
  const isGone = command === remove && again.isErr() && again.error.kind === "not_found";
  if (!isGone) expect(again.isOk() ? "ok" : again.error, where).toBe("ok");
  await check(stage);
};

/** @param cloud the name of the cloud in error messages */
export const volumeFaultTests = (cloud: RegExp, setStage: SetStage): void => {
  for (const scene of scenes)
    describe(`a fault in a volume's ${scene.what}`, () => {
      for (const kind of kinds)
        test(`${kind} at any call`, { timeout: MATRIX_MS }, async () => {
          let failures = 0;
          const calls = await callsOf(scene, setStage);
          const tried = sampled(upTo(calls), 3);
          for (const nth of tried) if (await faultAt(scene, setStage, { nth, kind }, cloud)) failures += 1;
          expect(calls).toBeGreaterThan(5);
          // Missing permissions of the platform need an operator; every other error is transient.
          if (kind === "permission_denied") expect(failures).toBeGreaterThan(tried.length / 2);
          else expect(failures).toBe(0);
        });

      test("a stop at any call", { timeout: MATRIX_MS }, async () => {
        for (const nth of sampled(upTo(await callsOf(scene, setStage)), 3)) await stopAt(scene, setStage, nth);
      });
    });
};
