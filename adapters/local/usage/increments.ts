/** Increments of usage, summed by deployment, UTC day and SKU. */
import type { Sku } from "./skus.ts";

/** The key of an increment. */
export interface IncrementKey {
  readonly owner: string;
  readonly deployment: string;
  readonly day: string;
  readonly sku: Sku;
}

export interface Increment extends IncrementKey {
  readonly grains: bigint;
}

const keyOf = ({ owner, deployment, day, sku }: IncrementKey): string => [owner, deployment, day, sku].join("\n");

/** Increments of usage, one for each key. */
export class Increments {
  #byKey = new Map<string, Increment>();

  add({ grains, ...entry }: Increment): void {
    if (grains === 0n) return;
    const key = keyOf(entry);
    this.#byKey.set(key, { ...entry, grains: grains + (this.#byKey.get(key)?.grains ?? 0n) });
  }

  /** Returns the increments and removes them. */
  takeAll(): readonly Increment[] {
    const all = [...this.#byKey.values()];
    this.#byKey = new Map();
    return all;
  }
}
