/**
 * One engine of a data folder holds the lease: it writes the logs, the metered usage, the metrics and the latest runs
 * of schedules, and runs the timers. During an upgrade there are two engines. The one without the lease passes its
 * reports to the holder over the holder's socket. Its reports wait while no engine holds the lease.
 */
import type { NewLogEntry } from "../../../../core/domain/logs/entry.ts";
import type { LastFire } from "../../../../core/domain/schedules/fire-policy.ts";
import { type Instant, parseInstant, type Timestamp, timestampOf } from "../../../../core/domain/wire/instant.ts";
import type { Clock, Ids, Logger } from "../../../../core/ports/system.ts";
import type { Telemetry } from "../../../../core/ports/telemetry.ts";
import type { EngineLogs } from "../../logs/log-writer.ts";
import { entriesIn, type ServiceOutput } from "../../logs/service-output.ts";
import type { CronTimers } from "../../schedules/cron-timers.ts";
import type { PendingFire } from "../../schedules/fire.ts";
import type { FiredService } from "../../schedules/last-fires.ts";
import type { Increment } from "../../usage/increments.ts";
import type { RollupRow } from "../../usage/rollups.ts";
import { batchSender } from "../socket/batch-sender.ts";
import type { InputOf } from "../socket/protocol.ts";
import type { EngineReport } from "../socket/reports.ts";
import type { LeasedFiles } from "./leased-files.ts";
import { Outbox } from "./outbox.ts";

/** The data that one holder of the lease passes to the next. Can be sent as JSON. */
export interface Handover {
  /** When the timers stopped. */
  readonly since: Timestamp;
  /** The number of the last batch that each sender delivered, so that the next holder ignores repeated batches. */
  readonly received: Readonly<Record<string, number>>;
}

export interface LeaseDeps {
  readonly open: () => LeasedFiles;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
}

interface Held {
  readonly files: LeasedFiles;
  readonly timers: Pick<CronTimers, "start" | "stop" | "note" | "resume">;
}

const serviceOf = ({ owner, name, createdAt }: FiredService): FiredService => ({ owner, name, createdAt });

/** Stores a report, or acts on it. The returned promise, if any, resolves when the log has room for more. */
const apply = ({ files, timers }: Held, report: EngineReport): Promise<void> | undefined => {
  if (report.kind === "entry") return files.logs.push(report.entry, BigInt(report.at) as Instant);
  if (report.kind === "usage")
    files.ledger.write(report.increments.map((one) => ({ ...one, grains: BigInt(one.grains) })));
  else if (report.kind === "metrics") files.rollups.add(report.rows, 0);
  else if (report.kind === "fire") timers.note(report.service, report.fire);
  else {
    const { scheduled, at, ...rest } = report.fire;
    timers.resume(report.service, { ...rest, scheduled: BigInt(scheduled) as Instant, at: BigInt(at) as Instant });
  }
  return undefined;
};

export class Lease {
  readonly #deps: LeaseDeps;
  readonly #outbox: Outbox;
  #received = new Map<string, number>();
  #held: Held | undefined;
  #hasHeld = false;

  constructor(deps: LeaseDeps) {
    this.#deps = deps;
    this.#outbox = new Outbox({ ...deps, sender: deps.ids.id() });
  }

  /** The files of this engine. Throws if the engine does not hold the lease. */
  get files(): LeasedFiles {
    return this.#holding().files;
  }

  /** The number of log entries and other reports that are not yet in a file. */
  get waiting(): number {
    return this.#outbox.waiting + (this.#held?.files.logs.waiting ?? 0);
  }

  /**
   * Logs an entry. If the queue is full, returns a promise that resolves when the queue has room. A writer should await
   * the promise before it logs more.
   */
  log(entry: NewLogEntry): Promise<void> | undefined {
    const logs = this.#ready;
    return logs === undefined ? this.#forward(entry, this.#deps.clock.now()) : logs.push(entry);
  }

  /**
   * Logs the output of a service, like `log`.
   * @param at when another process received the output; undefined if this process has just received it
   */
  logOutput(output: ServiceOutput, at?: Instant): Promise<void> | undefined {
    const logs = this.#ready;
    if (logs !== undefined) return logs.pushOutput(output, at);
    let room: Promise<void> | undefined;
    for (const [entry, instant] of entriesIn(output, at ?? this.#deps.clock.now()))
      room = this.#forward(entry, instant) ?? room;
    return room;
  }

  /** Records increments of usage. */
  meter(increments: readonly Increment[]): void {
    if (this.#held !== undefined) this.#held.files.ledger.write(increments);
    else if (increments.length > 0)
      void this.#outbox.push({
        kind: "usage",
        increments: increments.map((one) => ({ ...one, grains: String(one.grains) })),
      });
  }

  /**
   * Stores rollups of metrics, or passes them to the engine that has taken over the lease. Returns false if this engine
   * has not had the lease yet, because an earlier version of Portside may hold it and would reject them.
   */
  record(rows: readonly RollupRow[], observedMillis: number): boolean {
    if (this.#held !== undefined) this.#held.files.rollups.add(rows, observedMillis);
    else if (this.#hasHeld) {
      if (rows.length > 0) void this.#outbox.push({ kind: "metrics", rows: [...rows] });
    } else return false;
    return true;
  }

  /** Stores the result of a fire's latest attempt. */
  storeFire(service: FiredService, fire: LastFire): void {
    if (this.#held !== undefined) this.#held.timers.note(service, fire);
    else void this.#outbox.push({ kind: "fire", service: serviceOf(service), fire });
  }

  /** Passes a fire that waits for a retry to the engine with the lease. */
  forwardFire(service: FiredService, { scheduled, at, ...rest }: PendingFire): void {
    const fire = { ...rest, scheduled: String(scheduled), at: String(at) };
    void this.#outbox.push({ kind: "retry", service: serviceOf(service), fire });
  }

  /**
   * Accepts a batch from another engine. Resolves to false if this engine does not hold the lease, and otherwise to
   * true when the log has room for more.
   */
  async receive({ sender, number, reports }: InputOf<"push">): Promise<boolean> {
    const held = this.#held;
    if (held === undefined) return false;
    if (number <= (this.#received.get(sender) ?? 0)) return true;
    this.#received.set(sender, number);
    let room: Promise<void> | undefined;
    for (const report of reports) room = apply(held, report) ?? room;
    await room;
    return true;
  }

  /**
   * Opens the files, starts the timers, and stores the reports that are waiting. No other engine may hold the lease.
   * @param handover from the previous holder; undefined if no other engine was running
   */
  take(timers: Held["timers"], handover?: Handover): void {
    const files = this.#deps.open();
    this.#held = { files, timers };
    this.#hasHeld = true;
    this.#received = new Map(Object.entries(handover?.received ?? {}));
    timers.start(files.lastFires, handover === undefined ? undefined : parseInstant(handover.since));
    this.#outbox.deliverTo((batch) => this.receive(batch));
  }

  /** Stops the timers, and writes and closes the files. From now on, reports wait for `forwardTo`. */
  async release(): Promise<Handover> {
    const { files, timers } = this.#holding();
    this.#held = undefined;
    this.#outbox.deliverTo(undefined);
    const since = timers.stop();
    const handover = { since: timestampOf(since), received: Object.fromEntries(this.#received) };
    files.ledger.write([]);
    this.meter(files.ledger.takeUnwritten());
    // An error must not prevent the handover, without which no engine could continue.
    await files
      .close()
      .catch((cause: unknown) => this.#deps.logger.error("could not close all files of the engine", { cause }));
    return handover;
  }

  /**
   * Passes all reports to the engine that listens at the path.
   * @param socket the path of its Unix socket
   */
  forwardTo(socket: string): void {
    if (this.#held !== undefined) throw new Error("this engine holds the lease");
    this.#outbox.deliverTo(batchSender(socket));
  }

  /**
   * Waits until all reports are stored or delivered, and closes the files. If the delivery takes too long, logs the
   * number of lost reports.
   */
  async close(): Promise<void> {
    await this.#outbox.close();
    await this.#held?.files.close();
  }

  /** The log of this engine, unless the outbox must deliver earlier entries first. */
  get #ready(): EngineLogs | undefined {
    return this.#outbox.waiting === 0 ? this.#held?.files.logs : undefined;
  }

  #forward(entry: NewLogEntry, at: Instant): Promise<void> | undefined {
    return this.#outbox.push({ kind: "entry", at: String(at), entry });
  }

  #holding(): Held {
    if (this.#held === undefined) throw new Error("this engine does not hold the lease");
    return this.#held;
  }
}
