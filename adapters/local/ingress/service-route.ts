/** The route to a service: its serving revision, and the pools of earlier revisions while they drain. */
import type { ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";
import type { Pool, Refusal, Slot } from "./pool.ts";

export interface ActiveRevision {
  readonly template: ServiceTemplate;
  readonly revision: string;
  readonly pool: Pool;
}

export type RouteRefusal = Refusal | { readonly kind: "nothing_serves" };

export interface Admission {
  readonly slot: Slot;
  readonly serving: ActiveRevision;
}

export class ServiceRoute {
  readonly name: string;
  #serving: ActiveRevision | undefined;
  /** The earlier revisions that drain, each with the end of its drain. */
  readonly #draining = new Map<ActiveRevision, Promise<void>>();

  constructor(name: string) {
    this.name = name;
  }

  get serving(): ActiveRevision | undefined {
    return this.#serving;
  }

  /** The revisions that have instances: the serving one, and earlier ones while they drain. */
  get revisions(): readonly ActiveRevision[] {
    return [...(this.#serving === undefined ? [] : [this.#serving]), ...this.#draining.keys()];
  }

  /** Sends all new requests to another revision and drains the previous one. */
  switchTo(serving: ActiveRevision | undefined, drainMillis: number): void {
    const before = this.#serving;
    this.#serving = serving;
    if (before === undefined) return;
    const drained = before.pool.retire(drainMillis).finally(() => this.#draining.delete(before));
    this.#draining.set(before, drained);
  }

  /** Stops serving; resolves when all instances have stopped. */
  async close(drainMillis: number): Promise<void> {
    this.switchTo(undefined, drainMillis);
    await Promise.all(this.#draining.values());
  }

  tryAdmit(affinity: string | undefined): Admission | undefined {
    const serving = this.#serving;
    const slot = serving?.pool.tryAcquire(affinity);
    return serving === undefined || slot === undefined ? undefined : { slot, serving };
  }

  /** Waits for a slot in the serving revision, even if another revision takes over in the meantime. */
  async admit(affinity: string | undefined, signal: AbortSignal): Promise<Admission | RouteRefusal> {
    for (;;) {
      const serving = this.#serving;
      if (serving === undefined) return { kind: "nothing_serves" };
      const outcome = await serving.pool.acquire(affinity, signal);
      if ("release" in outcome) return { slot: outcome, serving };
      if (outcome.kind !== "retired") return outcome;
    }
  }
}
