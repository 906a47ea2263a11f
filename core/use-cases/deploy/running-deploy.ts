/**
 * A running deploy and its records. A deploy continues without its client, and any client can follow it from any
 * record.
 */
import type { AccountId } from "../../domain/accounts/account.ts";
import {
  advance,
  type DeployEvent,
  type DeployPhase,
  type DeployStatus,
  type DeployUpdate,
} from "../../domain/deploy/events.ts";
import type { DeployReason } from "../../domain/deploy/reason.ts";
import type { ServiceSpec } from "../../domain/deploy/service-template.ts";
import { type Instant, timestampOf } from "../../domain/wire/instant.ts";
import type { DeploymentName } from "../../domain/wire/names.ts";
import type { Clock } from "../../ports/system.ts";

/** A deploy as clients see it. */
export interface DeployRun {
  readonly deployId: string;
  /**
   * Yields all records with a `seq` greater than `after`. If `signal` aborts, the iteration ends, but the deploy
   * continues.
   */
  follow(after?: number, signal?: AbortSignal): AsyncIterable<DeployEvent>;
}

/** The reason for the early end of a deploy. */
export type EndReason = Extract<DeployReason, "interrupted" | "deleted">;

export interface DeployIdentity {
  readonly deployId: string;
  readonly owner: AccountId;
  readonly name: DeploymentName;
  /** The service that the deploy creates. Absent for an update. */
  readonly first?: ServiceSpec | undefined;
}

export class RunningDeploy implements DeployRun {
  readonly deployId: string;
  readonly owner: AccountId;
  readonly name: DeploymentName;
  /** The service that the deploy creates. Undefined for an update. */
  readonly first: ServiceSpec | undefined;
  readonly beganAt: Instant;
  /** Approximate size of the records in memory. */
  bytes = 0;
  endedAt: Instant | undefined;
  readonly #clock: Clock;
  readonly #records: DeployEvent[] = [];
  readonly #watchers = new Set<() => void>();
  readonly #abort = new AbortController();
  readonly #ended = Promise.withResolvers<void>();
  #phase: DeployPhase = "begun";
  #lastAt: Instant;

  constructor(clock: Clock, identity: DeployIdentity) {
    this.#clock = clock;
    this.beganAt = clock.now();
    this.#lastAt = this.beganAt;
    this.first = identity.first;
    this.deployId = identity.deployId;
    this.owner = identity.owner;
    this.name = identity.name;
  }

  /** Aborts when `end` is called. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Defined only after `signal` has aborted. */
  get endReason(): EndReason {
    return this.#abort.signal.reason as EndReason;
  }

  /** Resolves after the last record, when the deploy has released its resources. */
  get settled(): Promise<void> {
    return this.#ended.promise;
  }

  get phase(): DeployPhase {
    return this.#phase;
  }

  get lastRecord(): DeployEvent | undefined {
    return this.#records.at(-1);
  }

  /** The time of the last record. Before the first record, the time at which the deploy began. */
  get lastAt(): Instant {
    return this.#lastAt;
  }

  end(reason: EndReason): void {
    this.#abort.abort(reason);
  }

  settle(): void {
    this.endedAt = this.#clock.now();
    this.#ended.resolve();
  }

  /** Adds a record. Throws if the record violates the order of records. */
  emit(update: DeployUpdate): void {
    const phase = advance(this.#phase, update.status);
    if (phase === undefined) throw new Error(`a deploy in the phase ${this.#phase} cannot report ${update.status}`);
    this.#phase = phase;
    this.#lastAt = this.#clock.now();
    const { status, message, ...rest } = update;
    const seq = this.#records.length + 1;
    this.#records.push({ status, message, time: timestampOf(this.#lastAt), deploy_id: this.deployId, seq, ...rest });
    this.bytes += message.length + 150;
    for (const wake of this.#watchers) wake();
  }

  /** Repeats the last status, so that a client can distinguish a silent phase from a dead connection. */
  repeat(): void {
    const { status, message } = this.lastRecord as DeployEvent;
    const step = message.replace(/^Still: /, "");
    this.emit({ status: status as Exclude<DeployStatus, "DONE" | "ERROR">, message: `Still: ${step}` });
  }

  async *follow(after = 0, signal?: AbortSignal): AsyncGenerator<DeployEvent> {
    let next = Math.max(0, after);
    while (signal?.aborted !== true) {
      const record = this.#records[next];
      if (record !== undefined) {
        next++;
        yield record;
        continue;
      }
      if (this.#phase === "ended") return;
      await this.#change(signal);
    }
  }

  async #change(signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = () => resolve();
    this.#watchers.add(wake);
    signal?.addEventListener("abort", wake);
    await promise;
    signal?.removeEventListener("abort", wake);
    this.#watchers.delete(wake);
  }
}
