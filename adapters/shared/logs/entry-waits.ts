/** Wakes the readers that wait for the next entry of a log. */
import type { LogScope } from "../../../core/ports/log-store.ts";
import { scopeKey } from "../accounts/scope-key.ts";

export class EntryWaits {
  readonly #waits = new Map<string, Set<() => void>>();

  /** Resolves when the log receives an entry after the call, or when the signal aborts. */
  async next({ owner, service }: LogScope, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const key = scopeKey(owner, service);
    const { promise, resolve } = Promise.withResolvers<void>();
    const waits = this.#waits.get(key) ?? new Set();
    this.#waits.set(key, waits.add(resolve));
    signal.addEventListener("abort", () => resolve(), { once: true });
    await promise;
    waits.delete(resolve);
    if (waits.size === 0 && this.#waits.get(key) === waits) this.#waits.delete(key);
  }

  /** Must be called after the store has received an entry. */
  received({ owner, service }: LogScope): void {
    // Most entries arrive while no reader waits.
    if (this.#waits.size === 0) return;
    for (const resolve of this.#waits.get(scopeKey(owner, service)) ?? []) resolve();
  }
}
