/**
 * `SqlEngine` on Athena. A separate process parses and translates each statement, and prepends the account's `logs` and
 * `billing` views. A first run with `LIMIT 0` determines the columns. The workgroup's limits apply to each run, and
 * both runs share one deadline.
 */

import type { SqlValue } from "../../../core/domain/sql/answer.ts";
import { columnProblems, type StatementSummary, statementProblems } from "../../../core/domain/sql/statement.ts";
import { millisOf } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { SqlEngine, SqlLimits, SqlRows, SqlScope } from "../../../core/ports/sql-engine.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import type { ResultAsync } from "../../../core/result.ts";
import { backoff } from "../../cloud/calls/backoff.ts";
import { type CallState, isCallState } from "../../cloud/calls/provider-call.ts";
import { packagedScript } from "../../shared/runtime/packaged-script.ts";
import { Describer } from "../../shared/sql/process/describer.ts";
import type { ShapedColumn } from "../../shared/sql/process/protocol.ts";
import { Ended, each, type Failed, invalid, withinDeadline } from "../../shared/sql/remote.ts";
import {
  type AwsRuntimeDeps,
  awsCalls,
  type Called,
  type CommandSender,
  commandSender,
  type RetryOptions,
} from "../call-policy.ts";
import { type ClientSource, sendCommand } from "../clients.ts";
import { failureOf } from "./failures.ts";
import { type Column, type Row, resultOf, shapesOf } from "./values.ts";
import { billingView, logsView, quotedName } from "./views.ts";

/** "Length Constraints: Maximum length of 262144" (StartQueryExecution, `QueryString`). */
const MAX_STATEMENT_CHARS = 262_144;
/** Maximum page size of GetQueryResults. */
const PAGE_ROWS = 1000;
const FIRST_POLL_MS = 100;
const MAX_POLL_MS = 1000;

/** The Athena workgroup for statements, and the sources of the tables `logs` and `billing`. */
export interface AthenaSources {
  readonly workGroup: string;
  readonly logTable: string;
  readonly logGroup: string;
  readonly billingTable: string | undefined;
}

const script = packagedScript(import.meta.url, "adapters/aws/sql/engine", "adapters/aws/sql/describer-child");

interface Page {
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  readonly next: string | undefined;
}

/** The remaining time of a statement's run, and the signal that aborts the run. */
interface Run {
  readonly left: () => number;
  readonly signal: AbortSignal;
}

const retryOf = ({ left, signal }: Run): RetryOptions => ({ timeoutMs: left(), signal });

export class AwsSql implements SqlEngine {
  readonly #sources: AthenaSources;
  readonly #clients: ClientSource;
  readonly #runtime: AwsRuntimeDeps;
  readonly #send: CommandSender<"athena">;
  readonly #describer = new Describer(script);

  constructor(sources: AthenaSources, clients: ClientSource, runtime: AwsRuntimeDeps) {
    this.#sources = sources;
    this.#clients = clients;
    this.#runtime = runtime;
    this.#send = commandSender("athena", "athena", clients, awsCalls(runtime), { abortRequests: false });
  }

  describe(scope: SqlScope, statement: string, { signal }: CallOptions = {}): ResultAsync<StatementSummary, Failed> {
    return this.#describer.describe(scope, statement, signal);
  }

  run(
    scope: SqlScope,
    statement: string,
    limits: SqlLimits,
    { signal }: CallOptions = {},
  ): ResultAsync<SqlRows, Failed> {
    const { clock } = this.#runtime;
    const end = millisOf(clock.now()) + limits.timeoutMs;
    const left = () => Math.max(end - millisOf(clock.now()), 1);
    return withinDeadline(clock, limits.timeoutMs, signal, (ended) =>
      this.#query(scope, statement, limits, { left, signal: ended }),
    );
  }

  close(): Promise<void> {
    return this.#describer.close();
  }

  async #query(scope: SqlScope, statement: string, limits: SqlLimits, run: Run): Promise<SqlRows> {
    const plain = await this.#translate(scope, statement, [], run);
    const columns = await this.#columns(plain, run);
    // Columns with duplicate or empty names cannot be selected by name; the caller reports them.
    if (columnProblems(columns.map(({ name }) => name)).length > 0)
      return { columns: columns.map(({ name }) => ({ name, type: "STRING" })), rows: each([]) };
    const isPlain = columns.every(({ shape }) => shape === "plain");
    return this.#rows(isPlain ? plain : await this.#translate(scope, statement, columns, run), columns, limits, run);
  }

  /** Returns the translated statement. The prepended views limit the statement to the account's rows. */
  async #translate(
    scope: SqlScope,
    statement: string,
    columns: readonly ShapedColumn[],
    { signal }: Run,
  ): Promise<string> {
    const { logTable, logGroup, billingTable } = this.#sources;
    const tables = {
      logs: logsView(quotedName(logTable), logGroup, scope.owner),
      ...(billingTable === undefined ? {} : { billing: billingView(quotedName(billingTable), scope.owner) }),
    };
    const translated = await this.#describer.translate(scope, statement, tables, columns, signal);
    if (translated.isErr()) throw new Ended(translated.error);
    const { summary, statement: sent } = translated.value;
    const [problem] = statementProblems(summary);
    if (problem !== undefined) throw new Ended(invalid(problem.message));
    if (billingTable === undefined && summary.tables.some(({ name }) => name.toLowerCase() === "billing"))
      throw new Ended(invalid("this platform has no billing table; its operator can set `billingTable`"));
    if (sent.length > MAX_STATEMENT_CHARS)
      throw new Ended(invalid("the translated statement exceeds the engine's length limit; shorten it"));
    return sent;
  }

  /** Determines the columns of the result without reading rows. */
  async #columns(statement: string, run: Run): Promise<readonly ShapedColumn[]> {
    const id = await this.#execute(`SELECT * FROM (${statement}) LIMIT 0`, run, false);
    const { columns } = await this.#page(id, undefined, run);
    return shapesOf(columns);
  }

  async #rows(statement: string, plan: readonly ShapedColumn[], limits: SqlLimits, run: Run): Promise<SqlRows> {
    const id = await this.#execute(statement, run, true);
    const first = await this.#page(id, undefined, run);
    // The first row of the first page contains the column names.
    let page: Page = { ...first, rows: first.rows.slice(1) };
    const result = resultOf(page.columns, plan, page.rows[0]);
    const rows: (readonly SqlValue[])[] = [];
    for (let bytes = 0; ; page = await this.#page(id, page.next, run)) {
      if (rows.length + page.rows.length > limits.rows) throw new Ended({ kind: "too_many_rows" });
      const values = page.rows.map(result.valuesOf);
      bytes += Buffer.byteLength(JSON.stringify(values));
      if (bytes > limits.bytes) throw new Ended({ kind: "too_large" });
      rows.push(...values);
      if (page.next === undefined) return { columns: result.columns, rows: each(rows) };
    }
  }

  /** Runs a query to its end, and returns its id. Stops the query on abort, because AWS charges for scanned data. */
  async #execute(statement: string, run: Run, hasRun: boolean): Promise<string> {
    const input = {
      QueryString: statement,
      WorkGroup: this.#sources.workGroup,
      // A retry sends the same token, so the query runs only once even if a response is lost. A token must have at
      // least 32 characters.
      ClientRequestToken: `portside-${this.#runtime.ids.id()}${this.#runtime.ids.id()}`.slice(0, 40),
    };
    const { QueryExecutionId: id = "" } = await this.#orEnd(
      this.#send("StartQueryExecutionCommand", input, retryOf(run)),
    );
    const stop = () => void this.#stop(id);
    run.signal.addEventListener("abort", stop, { once: true });
    if (run.signal.aborted) stop();
    try {
      await this.#awaitEnd(id, run, hasRun);
      return id;
    } finally {
      run.signal.removeEventListener("abort", stop);
    }
  }

  async #awaitEnd(id: string, run: Run, hasRun: boolean): Promise<void> {
    const input = { QueryExecutionId: id };
    for (const pause of backoff(FIRST_POLL_MS, MAX_POLL_MS)) {
      const polled = await this.#orEnd(this.#send("GetQueryExecutionCommand", input, retryOf(run)));
      const status = polled.QueryExecution?.Status ?? {};
      if (status.State === "SUCCEEDED") return;
      if (status.State === "FAILED" || status.State === "CANCELLED")
        throw new Ended(failureOf(status, this.#hidden, hasRun));
      if (run.signal.aborted) throw new Ended({ kind: "timeout" });
      await this.#runtime.clock.sleep(pause, run.signal);
    }
  }

  async #page(id: string, token: string | undefined, run: Run): Promise<Page> {
    const input = { QueryExecutionId: id, MaxResults: PAGE_ROWS, ...(token === undefined ? {} : { NextToken: token }) };
    const { ResultSet, NextToken } = await this.#orEnd(this.#send("GetQueryResultsCommand", input, retryOf(run)));
    return { columns: ResultSet?.ResultSetMetadata?.ColumnInfo ?? [], rows: ResultSet?.Rows ?? [], next: NextToken };
  }

  async #stop(id: string): Promise<void> {
    const input = { QueryExecutionId: id };
    await sendCommand(this.#clients, "athena", "StopQueryExecutionCommand", input).catch(() => undefined);
  }

  async #orEnd<T>(sent: Called<T>): Promise<T> {
    const result = await sent;
    if (result.isOk()) return result.value;
    throw new Ended(this.#failureOfCall(result.error));
  }

  #failureOfCall(error: CallState | Unavailable): Failed {
    if (!isCallState(error)) return error;
    const { AthenaErrorCode, message = "" } = error.error as { AthenaErrorCode?: string; message?: string };
    // An InvalidRequestException with "MALFORMED_QUERY": Athena rejected the statement itself.
    if (AthenaErrorCode === "MALFORMED_QUERY")
      return failureOf(
        { State: "FAILED", AthenaError: { ErrorType: 1006, ErrorMessage: message } },
        this.#hidden,
        false,
      );
    this.#runtime.logger.error("Athena rejected a query; check athenaWorkgroup and its output location", {
      error: error.error,
    });
    return unavailable(
      "The platform's SQL engine is misconfigured. Its operator can find the reason in the server's log.",
      60,
      error.error,
    );
  }

  /** The platform's internal names, which error messages must not contain. */
  get #hidden(): readonly string[] {
    const { logTable, billingTable, workGroup } = this.#sources;
    const tables = [logTable, billingTable ?? logTable];
    return [...tables, ...tables.map(quotedName), ...tables.map((name) => name.split(".").at(-1) ?? name), workGroup];
  }
}
