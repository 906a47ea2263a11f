/** A fake Athena over HTTP that runs the queries. Source: the service model of @aws-sdk/client-athena. */
import { AthenaClient } from "@aws-sdk/client-athena";
import type { DuckDBType } from "@duckdb/node-api";
import { Faults } from "../../faults.ts";
import type { KeptEvent } from "../logs/events.ts";
import { clientOptions, jsonErrors, jsonProtocol, type Message } from "../protocols.ts";
import { recorded } from "../requests/recorder.ts";
import { AwsError, type InjectedErrors, serveAws } from "../server.ts";
import { cellOf, columnOf } from "./cells.ts";
import { toDuck } from "./duck.ts";
import { BILLING_TABLE, createTables, type ExportedCost, LOG_TABLE } from "./tables.ts";

export interface FakeAthenaOptions {
  /** The log events that the table contains. */
  readonly events: () => readonly KeptEvent[];
  readonly group?: string;
  readonly workGroup?: string;
  /** Rows per response, at most 1000. */
  readonly pageRows?: number;
}

interface Result {
  readonly columns: readonly object[];
  readonly rows: readonly object[];
}

interface Execution {
  readonly query: string;
  status: Readonly<Record<string, unknown>> & { readonly State: string };
  result?: Result;
}

const MOST_ROWS = 1000;
const STATEMENT_CHARS = 262_144;

/** "TooManyRequestsException: Indicates that the request was throttled." */
const errors: InjectedErrors = {
  ...jsonErrors,
  unavailable: new AwsError("InternalServerException", "A platform issue (injected).", 500),
  resource_exhausted: new AwsError("TooManyRequestsException", "The request was throttled (injected)."),
};

const bad = (message: string): AwsError => new AwsError("InvalidRequestException", message);

/** https://docs.aws.amazon.com/athena/latest/ug/error-reference.html; names from Trino's StandardErrorCode. */
const failureOf = (error: unknown): Readonly<Record<string, unknown>> & { readonly State: string } => {
  const message = error instanceof Error ? error.message : String(error);
  const column = /Referenced column "([^"]+)" not found/.exec(message)?.[1];
  const [type, words] =
    column !== undefined
      ? [1006, `COLUMN_NOT_FOUND: line 1:8: Column '${column}' cannot be resolved or requester is not authorized`]
      : message.startsWith("Conversion Error")
        ? [1001, `INVALID_CAST_ARGUMENT: Cannot cast ${message}`]
        : /^(Binder|Parser|Catalog) Error/.test(message)
          ? [1006, `SYNTAX_ERROR: line 1:1: ${message} of Trino in Athena`]
          : [1000, `GENERIC_USER_ERROR: ${message}`];
  return {
    State: "FAILED",
    StateChangeReason: words,
    AthenaError: { ErrorCategory: 2, ErrorType: type, Retryable: false, ErrorMessage: words },
  };
};

const pause = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis).unref());

/** Caches translations: they are slow, and each statement runs in two forms. */
const translated = new Map<string, string>();
const duckOf = (statement: string): string => {
  const sql = translated.get(statement) ?? toDuck(statement);
  translated.set(statement, sql);
  return sql;
};

export const startFakeAthena = async (options: FakeAthenaOptions) => {
  const { events, group = "/portside/services", workGroup = "portside", pageRows = MOST_ROWS } = options;
  const faults = new Faults();
  const tables = await createTables(group);
  const costs: ExportedCost[] = [];
  const executions = new Map<string, Execution>();
  const tokens = new Map<string, string>();
  let slowness = 0;
  let cutoff: string | undefined;

  const run = async (execution: Execution): Promise<void> => {
    execution.status = { State: "RUNNING" };
    await pause(slowness);
    if (cutoff !== undefined) execution.status = { State: "CANCELLED", StateChangeReason: cutoff };
    if (execution.status.State === "CANCELLED") return;
    try {
      await tables.catchUp(events(), costs);
      const read = await tables.connection.runAndReadAll(duckOf(execution.query));
      const types = read.columnTypes() as readonly DuckDBType[];
      execution.result = {
        columns: read.columnNames().map((name, n) => columnOf(name, types[n] as DuckDBType)),
        // The first row of a SELECT's result has the column names. AWS does not document this.
        rows: [
          { Data: read.columnNames().map((VarCharValue) => ({ VarCharValue })) },
          ...read.getRows().map((row) => ({ Data: row.map((value, n) => cellOf(value, types[n] as DuckDBType)) })),
        ],
      };
      execution.status = { State: "SUCCEEDED" };
    } catch (error) {
      execution.status = failureOf(error);
    }
  };

  const start = ({ QueryString: query, WorkGroup, ClientRequestToken: token }: Message): object => {
    if (WorkGroup !== workGroup) throw bad(`WorkGroup ${WorkGroup} is not found.`);
    if (typeof query !== "string" || query.length > STATEMENT_CHARS) throw bad("QueryString is malformed");
    if (!/^.{32,128}$/.test(token ?? "")) throw bad("ClientRequestToken must have 32 to 128 characters");
    const known = tokens.get(token);
    // "An error is returned if a parameter, such as QueryString, has changed."
    if (known !== undefined && executions.get(known)?.query !== query) throw bad("Idempotent parameters do not match");
    if (known !== undefined) return { QueryExecutionId: known };
    const id = `00000000-0000-4000-8000-${String(executions.size).padStart(12, "0")}`;
    const execution: Execution = { query, status: { State: "QUEUED" } };
    executions.set(id, execution);
    tokens.set(token, id);
    void run(execution);
    return { QueryExecutionId: id };
  };

  const knownOf = (id: string): Execution => {
    const execution = executions.get(id);
    if (execution === undefined) throw bad(`QueryExecution ${id} was not found`);
    return execution;
  };

  const get = ({ QueryExecutionId: id }: Message): object => {
    const { query, status } = knownOf(id);
    return { QueryExecution: { QueryExecutionId: id, Query: query, WorkGroup: workGroup, Status: status } };
  };

  const results = ({ QueryExecutionId: id, NextToken, MaxResults = MOST_ROWS }: Message): object => {
    const { status, result } = knownOf(id);
    if (result === undefined) throw bad(`Query did not finish successfully. Final query state: ${status.State}`);
    if (MaxResults < 1 || MaxResults > MOST_ROWS) throw bad("MaxResults must be in 1 to 1000");
    const from = Number(NextToken ?? 0);
    const to = from + Math.min(MaxResults, pageRows);
    return {
      ResultSet: { Rows: result.rows.slice(from, to), ResultSetMetadata: { ColumnInfo: result.columns } },
      ...(to < result.rows.length ? { NextToken: String(to) } : {}),
    };
  };

  const stop = ({ QueryExecutionId: id }: Message): object => {
    const execution = knownOf(id);
    if (execution.result === undefined) execution.status = { State: "CANCELLED" };
    return {};
  };

  const methods = {
    StartQueryExecution: start,
    GetWorkGroup: ({ WorkGroup }: Message) => {
      if (WorkGroup !== workGroup) throw bad(`WorkGroup ${WorkGroup} is not found.`);
      return { WorkGroup: { Name: workGroup, State: "ENABLED" } };
    },
    GetQueryExecution: get,
    GetQueryResults: results,
    StopQueryExecution: stop,
  };
  const server = await serveAws(faults, jsonProtocol(methods, { service: "AmazonAthena", injected: errors }));
  const settings = clientOptions(server.endpoint);
  const client = recorded("athena", new AthenaClient(settings));
  return {
    faults,
    client,
    clientSettings: settings,
    workGroup,
    logTable: LOG_TABLE,
    billingTable: BILLING_TABLE,
    /** Adds a row to the billing export. */
    charge: (cost: ExportedCost) => void costs.push(cost),
    /** Sets the duration of all later queries, in milliseconds. */
    slowDown: (millis: number) => {
      slowness = millis;
    },
    /** Makes the work group's byte limit end all later queries, with this reason. */
    cutOff: (reason: string | undefined) => {
      cutoff = reason;
    },
    /** The statements that the fake received. */
    queries: (): readonly string[] => [...executions.values()].map(({ query }) => query),
    close: async () => {
      client.destroy();
      await server.close();
      tables.connection.closeSync();
    },
  };
};

export type FakeAthena = Awaited<ReturnType<typeof startFakeAthena>>;
