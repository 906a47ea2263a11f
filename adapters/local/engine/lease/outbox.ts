/**
 * Queues an engine's reports for the engine that holds the lease. Delivers numbered batches one at a time and in order,
 * and repeats a batch until the receiver has accepted it. The receiver ignores repeated numbers.
 */
import { setTimeout as sleep, setImmediate as yieldToEventLoop } from "node:timers/promises";
import type { Clock, Logger } from "../../../../core/ports/system.ts";
import type { Telemetry } from "../../../../core/ports/telemetry.ts";
import { type Amount, Backlog, reaches } from "../../logs/backlog.ts";
import type { InputOf } from "../socket/protocol.ts";
import type { EngineReport } from "../socket/reports.ts";

/** The maximum size of a batch. Even if each character takes several bytes, a batch is far smaller than `MAX_BODY`. */
const BATCH: Amount = { entries: 500, chars: 512 * 1024 };
const RETRY_MS = 50;
/** How long `close` waits for delivery. */
const CLOSE_MS = 10_000;

type Batch = InputOf<"push">;

/**
 * Sends a batch. Returns false if the outbox must repeat it. Throws if the receiver rejects the batch, which is then
 * lost.
 */
export type Send = (batch: Batch, signal: AbortSignal) => Promise<boolean>;

interface Destination {
  readonly send: Send;
  readonly changed: AbortController;
}

interface Queued {
  readonly report: EngineReport;
  readonly chars: number;
}

export interface OutboxDeps {
  /** Identifies this outbox among all outboxes. */
  readonly sender: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
}

export class Outbox {
  readonly #deps: OutboxDeps;
  readonly #backlog = new Backlog();
  #queue: Queued[] = [];
  #sending: { readonly batch: Batch; readonly size: Amount } | undefined;
  #lastNumber = 0;
  #destination: Destination | undefined;
  #delivery: Promise<void> | undefined;

  constructor(deps: OutboxDeps) {
    this.#deps = deps;
  }

  /** The number of reports that no receiver has acknowledged. */
  get waiting(): number {
    return this.#backlog.entries;
  }

  /**
   * Queues a report. If the queue is full, returns a promise that resolves when the queue has room. If writers do not
   * await the promise and the queue overflows, drops further log entries.
   */
  push(report: EngineReport): Promise<void> | undefined {
    if (report.kind === "entry" && this.#backlog.overflows) this.#lost(1, "the queue is full");
    else
      try {
        this.#add({ report, chars: JSON.stringify(report).length });
      } catch (cause) {
        this.#lost(1, cause);
      }
    return this.#backlog.room();
  }

  /** Changes the destination of all undelivered and later reports. Without a destination, reports wait. */
  deliverTo(send: Send | undefined): void {
    this.#destination?.changed.abort();
    this.#destination = send === undefined ? undefined : { send, changed: new AbortController() };
    this.#deliver();
  }

  /** Waits until all reports are delivered. If the delivery takes too long, logs the number of lost reports. */
  async close(): Promise<void> {
    const delivered = new AbortController();
    await Promise.race([this.#delivery, this.#deps.clock.sleep(CLOSE_MS, delivered.signal)]);
    delivered.abort();
    this.#destination?.changed.abort();
    this.#destination = undefined;
    await this.#delivery;
    if (this.waiting > 0) this.#lost(this.waiting, "the other engine cannot be reached");
  }

  #add(queued: Queued): void {
    this.#queue.push(queued);
    this.#backlog.add(queued.chars);
    this.#deliver();
  }

  #deliver(): void {
    if (this.#destination === undefined || this.waiting === 0) return;
    this.#delivery ??= this.#deliverAll().finally(() => {
      this.#delivery = undefined;
      this.#deliver();
    });
  }

  async #deliverAll(): Promise<void> {
    // Batches the reports of this turn of the event loop.
    await yieldToEventLoop();
    while (this.#destination !== undefined && this.waiting > 0) {
      const { send, changed } = this.#destination;
      this.#sending ??= this.#nextBatch();
      const { batch, size } = this.#sending;
      if (await this.#isDone(batch, send, changed.signal)) {
        this.#backlog.remove(size);
        this.#sending = undefined;
        this.#backlog.release();
      } else await sleep(RETRY_MS, undefined, { signal: changed.signal }).catch(() => undefined);
    }
  }

  async #isDone(batch: Batch, send: Send, signal: AbortSignal): Promise<boolean> {
    try {
      return await send(batch, signal);
    } catch (cause) {
      this.#lost(batch.reports.length, cause);
      return true;
    }
  }

  #nextBatch(): { readonly batch: Batch; readonly size: Amount } {
    let chars = 0;
    let entries = 0;
    for (const queued of this.#queue) {
      if (entries > 0 && reaches({ entries, chars: chars + queued.chars }, BATCH)) break;
      chars += queued.chars;
      entries += 1;
    }
    const reports = this.#queue.splice(0, entries).map(({ report }) => report);
    const batch = { sender: this.#deps.sender, number: ++this.#lastNumber, reports };
    return { batch, size: { entries, chars } };
  }

  #lost(entries: number, cause: unknown): void {
    this.#deps.telemetry.logLost(entries);
    this.#deps.logger.error("lost log entries or other reports: could not pass them to the engine that writes them", {
      entries,
      cause,
    });
  }
}
