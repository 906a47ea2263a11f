/**
 * Writes the accounts' log files in a separate thread, so that the output of services does not delay requests. Output
 * reaches the thread unsplit, because splitting and parsing lines costs as much as writing them.
 */
import { Worker } from "node:worker_threads";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { NewLogEntry } from "../../../core/domain/logs/entry.ts";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import type { LogScope } from "../../../core/ports/log-store.ts";
import type { Clock, Logger } from "../../../core/ports/system.ts";
import { noTelemetry, type Telemetry } from "../../../core/ports/telemetry.ts";
import { ResultAsync } from "../../../core/result.ts";
import { EntryWaits } from "../../shared/logs/entry-waits.ts";
import { packagedScript } from "../../shared/runtime/packaged-script.ts";
import { type Amount, Backlog } from "./backlog.ts";
import { type EngineLogs, isRecent, type LogWriterConfig, timeOf, unwritable } from "./log-writer.ts";
import type { ServiceOutput } from "./service-output.ts";

/** The part of the writer's configuration that the thread needs. */
export type LogThreadData = Pick<LogWriterConfig, "folder" | "retentionDays" | "maxBytes">;

/** An entry or some output, with the time at which this process received it. */
export type LogItem = { readonly at: Instant } & (
  | { readonly entry: NewLogEntry }
  | { readonly output: ServiceOutput & { readonly lines: Uint8Array } }
);

/** The calls that the thread answers. */
export type LogCall =
  | { readonly name: "append"; readonly entries: readonly NewLogEntry[] }
  | { readonly name: "writeAll"; readonly owner: AccountId }
  | { readonly name: "repair"; readonly owner: AccountId; readonly damaged: string }
  | { readonly name: "isLosing" | "close" };

export type ToLogThread =
  | { readonly kind: "items"; readonly items: readonly LogItem[]; readonly size: Amount }
  | ({ readonly kind: "call"; readonly id: number } & LogCall);

export type FromLogThread =
  /** The thread has queued a message of this size, and has room for more. */
  | ({ readonly kind: "taken"; readonly waiting: number } & Amount)
  | { readonly kind: "stored"; readonly entries: number; readonly lagSeconds: number; readonly waiting: number }
  | { readonly kind: "lost"; readonly entries: number; readonly waiting: number }
  | {
      readonly kind: "logged";
      readonly level: keyof Logger;
      readonly message: string;
      readonly fields: Parameters<Logger["error"]>[1];
    }
  /** The answer of `isLosing`. For all other calls, false if the call has failed. */
  | { readonly kind: "result"; readonly id: number; readonly result: boolean };

const script = packagedScript(import.meta.url, "adapters/local/logs/log-thread", "adapters/local/logs/write-logs");

/** False in a bundle, which lacks the thread's script. */
export const canWriteInThread = script !== null;

/**
 * Writers must wait while this amount is unacknowledged. A larger amount would delay calls, because the thread handles
 * all earlier items before a call.
 */
const AHEAD: Amount = { entries: 20_000, chars: 1024 * 1024 };
/** The estimated size of an entry without its text, in characters. */
const ENTRY_CHARS = 200;
const NOTHING: Amount = { entries: 0, chars: 0 };

const NEWLINE = 10;

/** Counts the lines of a block. */
const countLines = (lines: Uint8Array): number => {
  let count = 0;
  for (let at = lines.indexOf(NEWLINE); at >= 0; at = lines.indexOf(NEWLINE, at + 1)) count += 1;
  return Math.max(1, count);
};

/**
 * How long items wait for others, because each message between threads is expensive. The thread writes its entries to
 * files only every 200 ms, so this delay hardly matters.
 */
const SEND_MS = 5;

/** The delay before a new thread replaces a failed one. */
const RESTART_MS = 1000;

export class LogThread implements EngineLogs {
  readonly #data: LogThreadData;
  readonly #script: URL;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #telemetry: Telemetry;
  #worker: Worker | undefined;
  #restart: NodeJS.Timeout | undefined;
  /** The calls without a result. A call waits here if no thread runs. */
  readonly #calls = new Map<number, { readonly call: LogCall; readonly answer: PromiseWithResolvers<boolean> }>();
  #lastCall = 0;
  /** Items that the next message contains. */
  #items: LogItem[] = [];
  #size: Amount = NOTHING;
  /** Items that the thread has not taken. */
  #backlog = new Backlog(AHEAD);
  readonly #waits = new EntryWaits();
  /** The number of entries in the thread that are not in a file, according to its last report. */
  #inThread = 0;
  #lostAt = Number.NEGATIVE_INFINITY;
  #closed = false;

  /** @param worker the thread's script. Outside of tests, check `canWriteInThread` first. */
  constructor(config: LogWriterConfig, worker = script as URL) {
    const { clock, logger, telemetry = noTelemetry, folder, retentionDays, maxBytes } = config;
    this.#data = { folder, retentionDays, maxBytes };
    this.#script = worker;
    this.#clock = clock;
    this.#logger = logger;
    this.#telemetry = telemetry;
    this.#start();
  }

  push(entry: NewLogEntry, at?: Instant): Promise<void> | undefined {
    const chars = ENTRY_CHARS + (entry.text?.length ?? 0);
    const room = this.#queue({ entry, at: timeOf(this.#clock.now(), at) }, { entries: 1, chars });
    this.#waits.received(entry);
    return room;
  }

  pushOutput(output: ServiceOutput, at?: Instant): Promise<void> | undefined {
    // Copies the lines, because `#send` transfers the whole memory block that backs a buffer.
    const lines = new Uint8Array(output.lines);
    const item = { output: { ...output, lines: lines as Buffer }, at: timeOf(this.#clock.now(), at) };
    const room = this.#queue(item, { entries: countLines(lines), chars: lines.length });
    this.#waits.received(output);
    return room;
  }

  append(entries: readonly NewLogEntry[]): ReturnType<EngineLogs["append"]> {
    const written = this.#call({ name: "append", entries }).then((isWritten) => {
      if (!isWritten) throw unwritable();
    });
    for (const entry of entries) this.#waits.received(entry);
    return ResultAsync.fromPromise(written, unwritable);
  }

  async writeAll(owner: AccountId): Promise<void> {
    await this.#call({ name: "writeAll", owner });
  }

  nextEntry(scope: LogScope, signal: AbortSignal): Promise<void> {
    return this.#waits.next(scope, signal);
  }

  async repair(owner: AccountId, damaged: string): Promise<void> {
    await this.#call({ name: "repair", owner, damaged });
  }

  get waiting(): number {
    return this.#backlog.entries + this.#inThread;
  }

  async isLosing(): Promise<boolean> {
    return isRecent(this.#lostAt) || this.#call({ name: "isLosing" });
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#restart);
    if (this.#worker === undefined) this.#start();
    await this.#call({ name: "close" });
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  #start(): void {
    const worker = new Worker(this.#script, { name: "portside-logs", workerData: this.#data });
    this.#worker = worker;
    // The thread must not keep this process alive, except during a call.
    worker.unref();
    worker.on("message", (message: FromLogThread) => {
      // A message can arrive after the error of its thread.
      if (worker === this.#worker) this.#receive(message);
    });
    worker.on("error", (cause) => this.#failed(worker, cause));
    worker.on("exit", () => this.#failed(worker, new Error("the thread has ended")));
    this.#send();
    for (const id of this.#calls.keys()) this.#sendCall(worker, id);
  }

  #queue(item: LogItem, { entries, chars }: Amount): Promise<void> | undefined {
    // Instances may continue after the engine has closed its log.
    if (this.#closed) return undefined;
    if (this.#items.length === 0) setTimeout(() => this.#send(), SEND_MS);
    this.#items.push(item);
    this.#size = { entries: this.#size.entries + entries, chars: this.#size.chars + chars };
    this.#backlog.add(chars, entries);
    return this.#backlog.room();
  }

  /** Sends the queued items in one message. */
  #send(): void {
    if (this.#worker === undefined || this.#items.length === 0) return;
    const items = this.#items;
    const moved = items.flatMap((item) => ("output" in item ? [item.output.lines.buffer as ArrayBuffer] : []));
    const message: ToLogThread = { kind: "items", items, size: this.#size };
    this.#worker.postMessage(message, moved);
    this.#items = [];
    this.#size = NOTHING;
  }

  #call(call: LogCall): Promise<boolean> {
    if (this.#worker === undefined && this.#closed) return Promise.resolve(false);
    this.#send();
    const id = ++this.#lastCall;
    const answer = Promise.withResolvers<boolean>();
    this.#calls.set(id, { call, answer });
    if (this.#worker !== undefined) this.#sendCall(this.#worker, id);
    return answer.promise;
  }

  #sendCall(worker: Worker, id: number): void {
    worker.ref();
    const message: ToLogThread = { kind: "call", id, ...(this.#calls.get(id)?.call as LogCall) };
    worker.postMessage(message);
  }

  #receive(message: FromLogThread): void {
    if ("waiting" in message) this.#inThread = message.waiting;
    if (message.kind === "taken") {
      this.#backlog.remove(message);
      this.#backlog.release();
    } else if (message.kind === "logged") this.#logger[message.level](message.message, message.fields);
    else if (message.kind === "result") {
      this.#calls.get(message.id)?.answer.resolve(message.result);
      this.#calls.delete(message.id);
      if (this.#calls.size === 0) this.#worker?.unref();
    } else if (message.kind === "stored") this.#telemetry.logStored(message.entries, message.lagSeconds);
    else this.#telemetry.logLost(message.entries);
  }

  /** Counts the entries of the thread as lost, and starts another thread. */
  #failed(worker: Worker, cause: Error): void {
    if (worker !== this.#worker) return;
    this.#worker = undefined;
    this.#lostAt = performance.now();
    const lost = {
      entries: this.#backlog.entries - this.#size.entries,
      chars: this.#backlog.chars - this.#size.chars,
    };
    const entries = lost.entries + this.#inThread;
    this.#telemetry.logLost(entries);
    this.#logger.error("lost log entries: the thread that writes them has failed", { entries, cause });
    this.#inThread = 0;
    this.#backlog.remove(lost);
    this.#backlog.release();
    for (const { answer } of this.#calls.values()) answer.resolve(false);
    this.#calls.clear();
    if (!this.#closed) this.#restart = setTimeout(() => this.#start(), RESTART_MS);
  }
}
