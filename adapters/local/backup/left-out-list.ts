/** Counts the files that a backup leaves out or copies incompletely, by reason. */

export interface LeftOut {
  readonly reason: string;
  readonly count: number;
  /** The path of the first of these files, relative to the data folder. */
  readonly example: string;
}

export const reasons = {
  special: "not a file, a folder or a link",
  unreadable: "permission denied, or a damaged disk",
  deep: "nested too deeply",
  shrunk: "shrank while it was copied; zeros fill the rest",
  database: "damaged or removed database",
  foreign: "not part of the platform",
} as const;

export class LeftOutList {
  readonly #found = new Map<string, { count: number; readonly example: string }>();

  /** @param path the path of a backup entry */
  add(reason: keyof typeof reasons, path: string): void {
    const known = this.#found.get(reasons[reason]);
    if (known === undefined)
      this.#found.set(reasons[reason], { count: 1, example: Buffer.from(path, "latin1").toString() });
    else known.count++;
  }

  all(): LeftOut[] {
    return [...this.#found].map(([reason, { count, example }]) => ({ reason, count, example }));
  }
}
