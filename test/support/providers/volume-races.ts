/** Concurrent calls about volumes, on a memory provider whose calls take different times. */

import { createManualClock, createMemoryProvider, delayed } from "../../../adapters/memory/index.ts";
import type { DeployEvent } from "../../../core/domain/deploy/events.ts";
import { inOnePiece } from "../../models/upload-url.ts";
import { type MemoryPlatform, startMemory } from "./memory-platform.ts";

export interface Race {
  /** Each call of its ports takes the next of the given pauses, in milliseconds. The list of pauses repeats. */
  readonly slow: MemoryPlatform;
  /** The platform on the same memory without delays, for preparation and checks. */
  readonly quick: MemoryPlatform;
}

export const raceOver = (pauses: readonly number[]): Race => {
  const clock = createManualClock();
  const memory = createMemoryProvider({ clock });
  let calls = 0;
  const pause = () => pauses[calls++ % pauses.length] ?? 0;
  const slow = startMemory({
    clock,
    memory,
    around: ({ services, volumes, builder }) => ({
      services: delayed(services, clock, pause),
      volumes: delayed(volumes, clock, pause),
      builder: delayed(builder, clock, pause),
    }),
  });
  return { slow, quick: startMemory({ clock, memory }) };
};

const KEPT = "must not be lost";

/** Creates a volume with an object; returns its bucket. */
export const filled = async ({ quick: { controlPlane, principal } }: Race, volume: string): Promise<string> => {
  (await controlPlane.createVolume(principal(), { name: volume }))._unsafeUnwrap();
  const granted = (await controlPlane.grantUpload(principal(), { volume, object: "kept" }))._unsafeUnwrap();
  if (!(await fetch(inOnePiece(granted).url, { method: "PUT", body: KEPT })).ok)
    throw new Error("the object was not put");
  const own = (await controlPlane.listVolumes(principal()))._unsafeUnwrap();
  return own.find(({ name }) => name === volume)?.id ?? "";
};

/** The result of a deploy, or undefined if it was rejected before the stream; the caller advances the clock. */
export const deploying = async (
  { submit }: MemoryPlatform,
  name: string,
  volumes: readonly string[],
): Promise<readonly DeployEvent[] | undefined> => {
  const mounts = Object.fromEntries(volumes.map((volume) => [`/mnt/${volume}`, volume]));
  const run = await submit({ function_name: name, volumes: mounts });
  return run.isErr() ? undefined : Array.fromAsync(run.value.follow());
};

/** The violated invariants, as messages. */
export const damageOf = ({ quick }: Race, buckets: readonly string[]): string[] => {
  const { services, volumes } = quick.memory.snapshot();
  const found: string[] = [];
  for (const [name, { serving, rollingOut }] of services) {
    if (rollingOut !== null) found.push(`'${name}' is still pending`);
    for (const { bucket, volume } of serving?.document.spec.mounts ?? [])
      if (volumes.get(bucket)?.deletedAt !== null)
        found.push(`'${name}' serves, and its volume '${volume}' does not exist`);
  }
  const living = [...volumes.values()].filter(({ deletedAt }) => deletedAt === null);
  if (new Set(living.map(({ name }) => name)).size < living.length) found.push("two volumes have the same name");
  if (living.some(({ hidden }) => hidden)) found.push("a volume stays hidden");
  for (const bucket of buckets) {
    const bytes = volumes.get(bucket)?.objects.get("kept")?.bytes;
    if (new TextDecoder().decode(bytes) !== KEPT) found.push(`the object of '${bucket}' is lost`);
  }
  return found;
};
