/** Reads a deployment's log over HTTP, page by page. Waits when the platform rate-limits, and reports errors. */
import { setTimeout as sleep } from "node:timers/promises";
import type { LogPage } from "../../../core/domain/logs/entry.ts";
import { normalizeDeploymentName } from "../../../core/domain/wire/names.ts";
import { type Client, Refused } from "../client.ts";
import { plainText } from "../terminal/control-characters.ts";
import { CommandError, type Io, say } from "../terminal/io.ts";
import type { LogRow } from "./follow.ts";
import { withFilter } from "./problem.ts";

const PATIENCE_S = 5;

export class LogReader {
  readonly #client: Client;
  readonly #io: Io;
  readonly #name: string;
  readonly #query: string | undefined;
  #silent = false;
  #gone = false;

  constructor(client: Client, io: Io, name: string, query: string | undefined) {
    this.#client = client;
    this.#io = io;
    this.#name = name;
    this.#query = query;
  }

  /** @param bound an additional filter. It may precede any filter, because OR binds tighter than AND. */
  async page(
    request: { readonly since?: string | undefined; readonly limit?: number },
    bound?: string,
  ): Promise<LogPage> {
    const query = bound === undefined ? this.#query : `${bound}\n${this.#query ?? ""}`;
    const json = { deployment_name: this.#name, ...(query === undefined ? {} : { query }), ...request };
    for (;;) {
      try {
        const response = await this.#client.expectOk("/v1/deployment/logs", { json, signal: this.#io.signal });
        const page = (await response.json()) as LogPage;
        return { ...page, partial: response.headers.get("x-logs-partial") === "true" };
      } catch (error) {
        if (!(error instanceof Refused && error.status === 429)) throw withFilter(error, query);
        await this.#waitFor(error);
      }
    }
  }

  /** Returns a page, or undefined after a temporary error, which it reports once. */
  async pageIfAny(since: string | undefined, limit: number): Promise<LogPage | undefined> {
    try {
      const page = await this.page({ since, limit });
      this.#silent = false;
      for (const row of page.logs) this.#see(row);
      return page;
    } catch (error) {
      if (this.#io.signal.aborted) return undefined;
      if (error instanceof Refused && error.status === 404) this.#sayGone();
      else if (error instanceof Refused ? error.status >= 500 : error instanceof CommandError) this.#saySilent();
      else throw error;
      return undefined;
    }
  }

  /** Checks whether the deployment still exists: a quiet log may mean a delete whose entry the filter hides. */
  async lookWhetherGone(): Promise<void> {
    try {
      const list = await this.#client.call<{ name: string }[]>("/v1/deployment/list", { signal: this.#io.signal });
      if (list.some(({ name }) => name === normalizeDeploymentName(this.#name))) this.#gone = false;
      else this.#sayGone();
    } catch {
      // The next page reports the error.
    }
  }

  async #waitFor({ message, retryAfter = PATIENCE_S }: Refused): Promise<void> {
    say(this.#io, plainText(`${message.replace(/ Wait a little.*/, "")} Waiting ${retryAfter} s…`));
    await sleep(retryAfter * 1000, undefined, { signal: this.#io.signal });
  }

  #see(row: LogRow): void {
    if (row.log_name !== "platform" || !row.message.startsWith("{")) return;
    const { event } = JSON.parse(row.message) as { event?: unknown };
    if (event === "delete") this.#sayGone();
    if (event === "deploy") this.#gone = false;
  }

  #saySilent(): void {
    if (!this.#silent) say(this.#io, "The platform does not answer; waiting for it…");
    this.#silent = true;
  }

  #sayGone(): void {
    if (!this.#gone)
      say(this.#io, `There is no deployment '${this.#name}' any more; waiting for the next one of that name…`);
    this.#gone = true;
  }
}
