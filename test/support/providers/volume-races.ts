/** Calls about volumes that run at once, over a memory provider whose every answer takes its own time. */

import { createManualClock, createMemoryProvider, delayed } from "../../../adapters/memory/index.ts";
import type { DeployEvent } from "../../../core/domain/deploy/events.ts";
import { inOnePiece } from "../../models/upload-url.ts";
import { type MemoryPlatform, startMemory } from "./memory-platform.ts";

export interface Race {
  /** Over ports that take so many milliseconds a call, one pause after the other and again. */
  readonly slow: MemoryPlatform;
  /** Over the same world, without delay: for what comes before and after. */
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

const KEPT = "what nobody may lose";

/** Makes a volume with an object in it; returns its bucket. */
export const filled = async ({ quick: { controlPlane, principal } }: Race, volume: string): Promise<string> => {
  (await controlPlane.createVolume(principal(), { name: volume }))._unsafeUnwrap();
  const granted = (await controlPlane.grantUpload(principal(), { volume, object: "kept" }))._unsafeUnwrap();
  if (!(await fetch(inOnePiece(granted).url, { method: "PUT", body: KEPT })).ok)
    throw new Error("the object was not put");
  const own = (await controlPlane.listVolumes(principal()))._unsafeUnwrap();
  return own.find(({ name }) => name === volume)?.id ?? "";
};

/** Everything of a deploy, or undefined where it was refused before the stream; the clock is someone else's to move. */
export const deploying = async (
  { submit }: MemoryPlatform,
  name: string,
  volumes: readonly string[],
): Promise<readonly DeployEvent[] | undefined> => {
  const mounts = Object.fromEntries(volumes.map((volume) => [`/mnt/${volume}`, volume]));
  const run = await submit({ function_name: name, volumes: mounts });
  return run.isErr() ? undefined : Array.fromAsync(run.value.follow());
};

/** What is broken of what must hold however calls meet, in words. */
export const damageOf = ({ quick }: Race, buckets: readonly string[]): string[] => {
  const { services, volumes } = quick.memory.snapshot();
  const found: string[] = [];
  for (const [name, { serving, rollingOut }] of services) {
    if (rollingOut !== null) found.push(`'${name}' is rolled out for ever`);
    for (const { bucket, volume } of serving?.document.spec.mounts ?? [])
      if (volumes.get(bucket)?.deletedAt !== null) found.push(`'${name}' serves, and its volume '${volume}' is gone`);
  }
  const living = [...volumes.values()].filter(({ deletedAt }) => deletedAt === null);
  if (new Set(living.map(({ name }) => name)).size < living.length) found.push("two volumes of one name live");
  if (living.some(({ hidden }) => hidden)) found.push("a volume stays hidden");
  for (const bucket of buckets) {
    const bytes = volumes.get(bucket)?.objects.get("kept")?.bytes;
    if (new TextDecoder().decode(bytes) !== KEPT) found.push(`the object of '${bucket}' is lost`);
  }
  return found;
};
