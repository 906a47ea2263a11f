/** Counts entries that wait to be written or sent, and slows their writers down while too many wait. */

/** The number of entries, and of the characters in them. */
export interface Amount {
  readonly entries: number;
  readonly chars: number;
}

const FULL: Amount = { entries: 20_000, chars: 16 * 1024 * 1024 };

/** Returns whether the entries or the characters of an amount reach `part` times the bound. */
export const reaches = (amount: Amount, bound: Amount, part = 1): boolean =>
  amount.entries >= bound.entries * part || amount.chars >= bound.chars * part;

export class Backlog implements Amount {
  #entries = 0;
  #chars = 0;
  #room: PromiseWithResolvers<void> | undefined;
  readonly #full: Amount;

  /** @param full the amount at which writers must wait, until less than half of it is left */
  constructor(full = FULL) {
    this.#full = full;
  }

  get entries(): number {
    return this.#entries;
  }

  get chars(): number {
    return this.#chars;
  }

  /** True if the backlog has reached twice the size at which writers must wait. */
  get overflows(): boolean {
    return reaches(this, this.#full, 2);
  }

  add(chars: number, entries = 1): void {
    this.#entries += entries;
    this.#chars += chars;
  }

  remove({ entries, chars }: Amount): void {
    this.#entries -= entries;
    this.#chars -= chars;
  }

  /** Returns a promise if the backlog is full. The promise resolves when the backlog is less than half full. */
  room(): Promise<void> | undefined {
    if (!reaches(this, this.#full)) return undefined;
    this.#room ??= Promise.withResolvers();
    return this.#room.promise;
  }

  /** Lets the writers continue if there is room. */
  release(): void {
    if (reaches(this, this.#full, 0.5)) return;
    this.#room?.resolve();
    this.#room = undefined;
  }
}
