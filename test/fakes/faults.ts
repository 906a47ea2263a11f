/** Counts a fake's calls and injects faults: a call fails before its effect, or loses its response after it. */

export type FaultKind = "unavailable" | "permission_denied" | "resource_exhausted" | "reply_lost";

export interface Fault {
  /** If absent, any method. */
  readonly method?: string;
  /** The nth matching call after `inject`, from 1. */
  readonly nth: number;
  readonly kind: FaultKind;
}

interface Waiting {
  readonly fault: Fault;
  left: number;
}

export class Faults {
  readonly #calls = new Map<string, number>();
  readonly #log: string[] = [];
  #waiting: Waiting[] = [];

  get calls(): ReadonlyMap<string, number> {
    return this.#calls;
  }

  /** Every call, in order. */
  get log(): readonly string[] {
    return this.#log;
  }

  count(method: string): number {
    return this.#calls.get(method) ?? 0;
  }

  inject(fault: Fault): void {
    this.#waiting.push({ fault, left: fault.nth });
  }

  /** Resets counts, the log and pending faults. */
  clear(): void {
    this.#calls.clear();
    this.#log.length = 0;
    this.#waiting = [];
  }

  /** Records a call of `method`. Returns the fault that the fake must apply to it, if any. */
  enter(method: string): FaultKind | undefined {
    this.#calls.set(method, this.count(method) + 1);
    this.#log.push(method);
    let found: FaultKind | undefined;
    for (const one of this.#waiting) {
      if (one.fault.method !== undefined && one.fault.method !== method) continue;
      one.left -= 1;
      if (one.left === 0) found ??= one.fault.kind;
    }
    this.#waiting = this.#waiting.filter(({ left }) => left > 0);
    return found;
  }
}
