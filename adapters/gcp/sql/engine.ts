/**
 * `SqlEngine` on BigQuery. A separate process parses the statement and prepends the account's `logs` and `billing`.
 * After a successful dry run, BigQuery runs the composed statement with limits on bytes and time.
 */
import type { BigQuery } from "@google-cloud/bigquery";
import type { SqlValue } from "../../../core/domain/sql/answer.ts";
import { type StatementSummary, statementProblems } from "../../../core/domain/sql/statement.ts";
import { millisOf } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { SqlEngine, SqlFailure, SqlLimits, SqlRows, SqlScope } from "../../../core/ports/sql-engine.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import type { ResultAsync } from "../../../core/result.ts";
import { type CallState, isCallState, type ProviderCall } from "../../cloud/calls/provider-call.ts";
import { Describer } from "../../shared/sql/process/describer.ts";
import { Ended, each, type Failed, invalid, withinDeadline } from "../../shared/sql/remote.ts";
import { type GcpRuntimeDeps, googleCalls } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import type { GcpConfig } from "../config.ts";
import {
  cancel,
  dryRun,
  fetchNextPage,
  type JobReference,
  type Query,
  type QueryLimits,
  type QueryResponse,
  startQuery,
} from "./calls.ts";
import { bigQueryFault, reasonOf, runFailure, textFailure, tooMuchToRead } from "./failures.ts";
import { ownTables, type Sources, tableName, tablesBehind } from "./tables-behind.ts";
import { columnsOf, valuesOf } from "./values.ts";
import { billingView, logsView } from "./views.ts";

/** Milliseconds until BigQuery responds, even without rows. Short, because the response names the job to cancel. */
const RESPONSE_TIMEOUT_MS = 2000;
const PAGE_ROWS = 5000;

/** A backquoted name with an escape. BigQuery may read it differently than the parser of this adapter. */
const ESCAPED_NAME = /`[^`]*\\/;

const OTHER_TABLES = invalid("the statement may read only logs and billing");

/**
 * Returns true if the text contains the last part of a table's name. A statement must not contain the name of an
 * underlying table anywhere, because BigQuery may parse the statement differently than this adapter.
 */
const names = (text: string, tables: readonly string[]): boolean => {
  const lower = text.toLowerCase();
  return tables.some((table) => lower.includes(table.slice(table.lastIndexOf(".") + 1).toLowerCase()));
};

export class GcpSql implements SqlEngine {
  readonly #config: GcpConfig;
  readonly #sources: Sources;
  readonly #clients: ClientSource;
  readonly #runtime: GcpRuntimeDeps;
  readonly #call: ProviderCall;
  readonly #describer = new Describer();
  #behind: readonly string[] | undefined;

  constructor(config: GcpConfig, sources: Sources, clients: ClientSource, runtime: GcpRuntimeDeps) {
    this.#config = config;
    this.#sources = sources;
    this.#clients = clients;
    this.#runtime = runtime;
    this.#call = googleCalls(runtime, bigQueryFault);
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
    return withinDeadline(this.#runtime.clock, limits.timeoutMs, signal, (ended) =>
      this.#run(scope, statement, limits, ended),
    );
  }

  close(): Promise<void> {
    return this.#describer.close();
  }

  async #run(scope: SqlScope, statement: string, limits: SqlLimits, signal: AbortSignal): Promise<SqlRows> {
    const end = millisOf(this.#runtime.clock.now()) + limits.timeoutMs;
    const query = await this.#composeAndCheck(scope, statement, signal);
    return this.#fetchRows(query, limits, end, signal);
  }

  /** Returns the statement to send. The prepended tables contain only the account's rows. */
  async #composeAndCheck(scope: SqlScope, statement: string, signal: AbortSignal): Promise<Query> {
    const { dataset, billing } = this.#sources;
    const tables = {
      logs: logsView(dataset, this.#config.region, scope.owner),
      ...(billing === undefined ? {} : { billing: billingView(billing, scope.owner) }),
    };
    const composed = await this.#describer.translate(scope, statement, tables, [], signal);
    if (composed.isErr()) throw new Ended(composed.error);
    const { summary } = composed.value;
    const [problem] = statementProblems(summary);
    if (problem !== undefined) throw new Ended(invalid(problem.message));
    if (billing === undefined && summary.tables.some(({ name }) => name.toLowerCase() === "billing"))
      throw new Ended(invalid("this platform has no billing table; its operator can set `billingTable`"));
    if (names(statement, this.#allowed) || ESCAPED_NAME.test(statement)) throw new Ended(OTHER_TABLES);
    const query: Query = { query: composed.value.statement, location: this.#config.sqlLocation };
    await this.#checkDryRun(query, statement, signal);
    return query;
  }

  get #allowed(): readonly string[] {
    return ownTables(this.#sources);
  }

  /**
   * Returns the tables behind the platform's tables, which a dry run may list instead. Caches the result, but not
   * failures.
   */
  async #tablesBehind(client: BigQuery, signal: AbortSignal): Promise<readonly string[]> {
    if (this.#behind !== undefined) return this.#behind;
    const found: string[] = [];
    for (const table of this.#allowed) {
      const listed = await this.#call({ what: "bigquery.jobs.insert", signal }, () =>
        tablesBehind(client, table, this.#config.sqlLocation, this.#runtime.ids.id()),
      );
      if (listed.isErr()) throw new Ended(this.#failure(listed.error, () => OTHER_TABLES));
      found.push(...listed.value);
    }
    this.#runtime.logger.info("BigQuery lists these tables instead of the platform's views", { tables: found });
    this.#behind = found;
    return found;
  }

  /** Rejects a statement that, by BigQuery's analysis, reads other tables or too many bytes, or is not a SELECT. */
  async #checkDryRun(query: Query, statement: string, signal: AbortSignal): Promise<void> {
    const client = await this.#clients("bigquery");
    const { ids } = this.#runtime;
    const checked = await this.#call({ what: "bigquery.jobs.insert", signal }, () => dryRun(client, query, ids.id()));
    if (checked.isErr())
      throw new Ended(this.#failure(checked.error, ({ message = "" }) => textFailure(message, this.#names)));
    const { statistics } = checked.value;
    const { statementType, referencedTables = [] } = statistics?.query ?? {};
    const others = referencedTables.map(tableName).filter((name) => !this.#allowed.includes(name));
    const behind = others.length === 0 ? [] : await this.#tablesBehind(client, signal);
    const foreign = others.filter((name) => !behind.includes(name));
    if (foreign.length > 0 || statementType !== "SELECT") {
      const problem = "BigQuery reports other tables or no SELECT for a statement that the parser accepted";
      this.#runtime.logger.error(problem, { foreign, statementType });
      throw new Ended(OTHER_TABLES);
    }
    if (names(statement, behind)) throw new Ended(OTHER_TABLES);
    const bytes = Number(statistics?.query?.totalBytesProcessed ?? statistics?.totalBytesProcessed ?? 0);
    if (bytes > this.#config.sqlBytesBilled) throw new Ended(tooMuchToRead(this.#config.sqlBytesBilled, bytes));
  }

  /** The names of the platform's tables in both of BigQuery's notations. Messages to clients must not contain them. */
  get #names(): readonly string[] {
    return this.#allowed.flatMap((name) => [name, name.replace(".", ":")]);
  }

  #failure(error: CallState | Unavailable, ofStatement: (reason: { message?: string }) => SqlFailure): Failed {
    if (!isCallState(error)) return error;
    if (error.code === "invalid") return ofStatement(reasonOf(error.error) ?? {});
    this.#runtime.logger.error("BigQuery cannot find the platform's tables; check logDataset and billingTable", {
      error: error.error,
    });
    return unavailable(
      "The platform's SQL engine is misconfigured. Its operator can find the reason in the server's log.",
      60,
      error.error,
    );
  }

  async #fetchRows(query: Query, limits: SqlLimits, end: number, signal: AbortSignal): Promise<SqlRows> {
    const { clock, ids } = this.#runtime;
    const client = await this.#clients("bigquery");
    const left = () => Math.max(end - millisOf(clock.now()), 1);
    const settings = (): QueryLimits => ({
      maximumBytesBilled: this.#config.sqlBytesBilled,
      jobTimeout: left(),
      responseTimeout: Math.min(left(), RESPONSE_TIMEOUT_MS),
      rowsPerPage: Math.min(limits.rows + 1, PAGE_ROWS),
    });
    const requestId = ids.id();
    let job: JobReference | undefined;
    /** Cancels the query, because an abandoned query still costs money. */
    const stop = () => {
      const running = job;
      if (running !== undefined) cancel(client, running).catch(() => undefined);
    };
    const responseOf = async (what: string, send: () => Promise<QueryResponse>): Promise<QueryResponse> => {
      const sent = await this.#call({ what, timeoutMs: left(), signal }, send);
      if (sent.isErr())
        throw new Ended(this.#failure(sent.error, (one) => runFailure(one, this.#config.sqlBytesBilled)));
      job = sent.value.jobReference ?? job;
      if (signal.aborted) stop();
      return sent.value;
    };
    signal.addEventListener("abort", stop, { once: true });
    try {
      let response = await responseOf("bigquery.jobs.query", () => startQuery(client, query, settings(), requestId));
      const rest = (token?: string) =>
        responseOf("bigquery.jobs.getQueryResults", () => fetchNextPage(client, job ?? {}, settings(), token));
      while (response.jobComplete !== true && !signal.aborted) response = await rest();
      if (Number(response.totalRows ?? 0) > limits.rows) throw new Ended({ kind: "too_many_rows" });
      const fields = response.schema?.fields ?? [];
      const rows: (readonly SqlValue[])[] = [];
      for (let bytes = 0; ; response = await rest(response.pageToken)) {
        const values = (response.rows ?? []).map((row) => valuesOf(fields, row));
        bytes += Buffer.byteLength(JSON.stringify(values));
        if (bytes > limits.bytes) throw new Ended({ kind: "too_large" });
        rows.push(...values);
        if (response.pageToken === undefined) return { columns: columnsOf(fields), rows: each(rows) };
      }
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }
}
