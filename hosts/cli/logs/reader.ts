/** Reads a deployment's log over HTTP, page by page. Waits if the platform limits the rate, and reports errors. */
import { setTimeout as sleep } from "node:timers/promises";
import type { LogPage } from "../../../core/domain/logs/entry.ts";
import { normalizeDeploymentName } from "../../../core/domain/wire/names.ts";
import { type Client, waitingReadLogs } from "../../client/client.ts";
import { ApiError } from "../../client/errors.ts";
import { isExplained } from "../client.ts";
import { plainText } from "../terminal/control-characters.ts";
import { type Io, say } from "../terminal/io.ts";
import type { LogRow } from "./follow.ts";
import { withMarkedFilter } from "./mark-filter.ts";

const DEFAULT_RETRY_S = 5;

/** The parts of a request that select a page. */
export interface PageRequest {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly order?: "desc";
  readonly limit?: number;
}

export class LogReader {
  readonly #client: Client;
  readonly #waitingReadLogs: Client["readLogs"];
  readonly #io: Io;
  readonly #name: string;
  readonly #query: string | undefined;
  readonly #full: boolean;
  #silent = false;
  #gone = false;

  /** @param full whether to read whole entries */
  constructor(client: Client, io: Io, name: string, query: string | undefined, full = false) {
    this.#client = client;
    this.#waitingReadLogs = waitingReadLogs(client);
    this.#io = io;
    this.#name = name;
    this.#query = query;
    this.#full = full;
  }

  /** @param bound a filter to put before the user's filter; needs no parentheses, because OR binds tighter than AND */
  page(request: PageRequest, bound?: string): Promise<LogPage> {
    return this.#page(this.#client.readLogs, request, bound);
  }

  async #page(readLogs: Client["readLogs"], request: PageRequest, bound?: string): Promise<LogPage> {
    const query = bound === undefined ? this.#query : `${bound}\n${this.#query ?? ""}`;
    const full = this.#full ? { full: true } : {};
    const body = { deployment_name: this.#name, ...(query === undefined ? {} : { query }), ...full, ...request };
    for (;;) {
      try {
        return await readLogs(body, { signal: this.#io.signal });
      } catch (error) {
        if (!(error instanceof ApiError && error.status === 429)) throw withMarkedFilter(error, query);
        await this.#waitFor(error);
      }
    }
  }

  /**
   * Returns a page. The platform may wait for an entry. If the platform is unavailable or the deployment does not
   * exist, returns undefined, and reports the problem once. Also returns undefined after Ctrl-C.
   */
  async pageIfAny(since: string | undefined, limit: number): Promise<LogPage | undefined> {
    try {
      const page = await this.#page(this.#waitingReadLogs, { since, limit });
      this.#silent = false;
      for (const row of page.logs) this.#see(row);
      return page;
    } catch (error) {
      if (this.#io.signal.aborted) return undefined;
      if (error instanceof ApiError && error.status === 404) this.#reportDeleted();
      else if (error instanceof ApiError ? error.status >= 500 : isExplained(error)) this.#reportSilence();
      else throw error;
      return undefined;
    }
  }

  /** Checks whether the deployment still exists, because the filter may exclude the entry that reports its deletion. */
  async checkDeployment(): Promise<void> {
    try {
      const list = await this.#client.listDeployments({ signal: this.#io.signal });
      if (list.some(({ name }) => name === normalizeDeploymentName(this.#name))) this.#gone = false;
      else this.#reportDeleted();
    } catch {
      // The next page reports the error.
    }
  }

  async #waitFor({ message, retryAfter = DEFAULT_RETRY_S }: ApiError): Promise<void> {
    say(this.#io, plainText(`${message.replace(/ Retry in a few seconds.*/, "")} Waiting ${retryAfter} s…`));
    await sleep(retryAfter * 1000, undefined, { signal: this.#io.signal });
  }

  #see(row: LogRow): void {
    if (row.log_name !== "platform" || !row.message.startsWith("{")) return;
    const { event } = JSON.parse(row.message) as { event?: unknown };
    if (event === "delete") this.#reportDeleted();
    if (event === "deploy") this.#gone = false;
  }

  #reportSilence(): void {
    if (!this.#silent) say(this.#io, "The platform is unavailable. Retrying…");
    this.#silent = true;
  }

  #reportDeleted(): void {
    if (!this.#gone)
      say(this.#io, `The deployment '${this.#name}' does not exist. Waiting for a deployment of that name…`);
    this.#gone = true;
  }
}
