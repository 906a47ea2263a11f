/**
 * Remembers the versions that this process has added and deleted, because a read may not see them yet: "adding a secret
 * version and then immediately accessing that secret version by version number is a strongly consistent operation.
 * Other operations within Secret Manager are eventually consistent. Eventually consistent operations typically converge
 * within minutes, but may take a few hours": https://docs.cloud.google.com/secret-manager/docs/reference/consistency.
 * The memory covers the typical delay. If the delay is longer, a read may return an outdated list.
 */
import { type Instant, plusMillis } from "../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../core/ports/system.ts";
import type { ManagedSecret } from "./secret-manager.ts";
import { type Annotations, type Changes, withChanges } from "./versions.ts";

/** How long to remember a change. Another process may delete a version that this process has added. */
const KEPT_MS = 10 * 60_000;

interface Change {
  /** The annotation of an added version; undefined for a deleted version. */
  readonly value: string | undefined;
  readonly at: Instant;
}

export class RecentVersions {
  readonly #clock: Pick<Clock, "now">;
  /** By the id of the secret, then by the key of the annotation. */
  readonly #changes = new Map<string, Map<string, Change>>();
  /** The result of the last write, by the id of the secret. */
  readonly #written = new Map<string, ManagedSecret>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /**
   * Records a write, and the changes by other processes that its result shows.
   * @param secret the result of the write
   */
  record(id: string, written: Changes, secret: ManagedSecret): void {
    const { annotations: after = {} } = secret;
    const changes = this.#current(id);
    const at = this.#clock.now();
    const found = [...changes].filter(([key, { value }]) => value !== after[key]).map(([key]) => key);
    for (const key of [...found, ...Object.keys(written)]) changes.set(key, { value: after[key], at });
    this.#changes.set(id, changes);
    this.#written.set(id, secret);
  }

  /**
   * Returns the result of this process's last write, or undefined if the process has not written recently. Another
   * process may have written the secret since, so the caller must pass the secret's etag to its next write.
   */
  lastWritten(id: string): ManagedSecret | undefined {
    const secret = this.#current(id).size === 0 ? undefined : this.#written.get(id);
    return secret?.etag === undefined ? undefined : secret;
  }

  /** Returns the annotations that a read returned, with the recent writes applied. */
  apply(id: string, annotations: Annotations = {}): Annotations {
    return withChanges(
      annotations,
      Object.fromEntries([...this.#current(id)].map(([key, { value }]) => [key, value] as const)),
    );
  }

  /** The ids of the secrets with recent writes. */
  ids(): readonly string[] {
    return [...this.#changes.keys()].filter((id) => this.#current(id).size > 0);
  }

  #current(id: string): Map<string, Change> {
    const changes = this.#changes.get(id) ?? new Map<string, Change>();
    for (const [key, { at }] of changes) if (plusMillis(at, KEPT_MS) <= this.#clock.now()) changes.delete(key);
    if (changes.size === 0) {
      this.#changes.delete(id);
      this.#written.delete(id);
    }
    return changes;
  }
}
