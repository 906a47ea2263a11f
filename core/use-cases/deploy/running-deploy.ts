/**
 * One deploy as it runs: its records, kept so that any client can follow them from any point, and the
 * means to end it. A run goes on without its client.
 */
import type { AccountId } from "../../domain/accounts/account.ts";
import {
  advance,
  type DeployEvent,
  type DeployNews,
  type DeployPhase,
  type DeployStatus,
} from "../../domain/deploy/events.ts";
import type { DeployReason } from "../../domain/deploy/reason.ts";
import type { ServiceSpec } from "../../domain/deploy/service-template.ts";
import { type Instant, timestampOf } from "../../domain/wire/instant.ts";
import type { DeploymentName } from "../../domain/wire/names.ts";
import type { Clock } from "../../ports/system.ts";

/** What a client gets of a deploy. */
export interface DeployRun {
  readonly deployId: string;
  /** The records after `after` (a `seq`), as they come, to the last; `signal` ends the following, not the deploy. */
  follow(after?: number, signal?: AbortSignal): AsyncIterable<DeployEvent>;
}

/** Why a run was told to end before its own end. */
export type EndReason = Extract<DeployReason, "interrupted" | "deleted">;

export interface DeployIdentity {
  readonly deployId: string;
  readonly owner: AccountId;
  readonly name: DeploymentName;
  /** Given if there is no deployment of the name. */
  readonly first?: ServiceSpec | undefined;
}

export class RunningDeploy implements DeployRun {
  readonly deployId: string;
  readonly owner: AccountId;
  readonly name: DeploymentName;
  /** What it makes; undefined if the deployment was there when it began. */
  readonly first: ServiceSpec | undefined;
  readonly beganAt: Instant;
  /** Roughly what its records take. */
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

  /** Aborts when the run is told to end. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Why it was told to end, once `signal` has aborted. */
  get endReason(): EndReason {
    return this.#abort.signal.reason as EndReason;
  }

  /** Resolves when nothing of the run is left: its last record is out and its ports are quiet. */
  get settled(): Promise<void> {
    return this.#ended.promise;
  }

  get phase(): DeployPhase {
    return this.#phase;
  }

  get lastRecord(): DeployEvent | undefined {
    return this.#records.at(-1);
  }

  /** When the last record came; before the first, when the run was made. */
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

  /** Adds a record. A record that may not come now is a bug of the caller. */
  emit(news: DeployNews): void {
    const phase = advance(this.#phase, news.status);
    if (phase === undefined) throw new Error(`a deploy that is ${this.#phase} cannot say ${news.status}`);
    this.#phase = phase;
    this.#lastAt = this.#clock.now();
    const { status, message, ...rest } = news;
    const seq = this.#records.length + 1;
    this.#records.push({ status, message, time: timestampOf(this.#lastAt), deploy_id: this.deployId, seq, ...rest });
    this.bytes += message.length + 150;
    for (const wake of this.#watchers) wake();
  }

  /** Repeats the present status of a deploy that goes on, so that a client can tell a silent step from a dead connection. */
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
