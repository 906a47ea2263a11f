/** Faults on purpose: what a fake counts, and which of its calls fail before they act or lose their answer after. */

export type FaultKind = "unavailable" | "permission_denied" | "resource_exhausted" | "reply_lost";

export interface Fault {
  /** Absent: any method. */
  readonly method?: string;
  /** The nth call that matches, from 1 on, counted from when the fault was set. */
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

  /** Forgets counts and faults. */
  clear(): void {
    this.#calls.clear();
    this.#log.length = 0;
    this.#waiting = [];
  }

  /** A fake says at each call which method it is; it fails as it is told. */
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
