/** BigQuery's REST API over HTTP, with real query results: https://cloud.google.com/bigquery/docs/reference/rest. */
import { PassThroughClient } from "google-auth-library";
import { Faults } from "../../faults.ts";
import { type AdverseBehaviors, noneAdverse } from "../adverse.ts";
import type { Message } from "../grpc.ts";
import type { KeptEntry } from "../logging/entries.ts";
import { type InjectedErrors, RestError, type RestMethod, type RestRequest, serveRest } from "../rest-server.ts";
import { PROJECT } from "../test-project.ts";
import { dryRunStatistics, type Result, runStatement } from "./statements.ts";
import { type ExportedCost, Tables } from "./tables.ts";

export interface FakeBigQueryOptions {
  /** The log that the linked dataset shows. */
  readonly entries: () => readonly KeptEntry[];
  /** Rows of one response; the real limit is 10 MB. */
  readonly pageRows?: number;
  readonly adverse?: AdverseBehaviors;
}

interface Job {
  readonly result: Promise<Result | RestError>;
  settled: Result | RestError | undefined;
}

const BYTES_OF_ROW = 100;
/** The tables that the view of a linked dataset reads. The names are invented, because none are documented. */
const tablesBehindView = ["default_1", "required_1"].map((name) => ({
  projectId: "logging-tenant",
  datasetId: "bucket_default",
  tableId: `_logs_${name}`,
}));
/** "By default, this limit is 10 seconds" (v2/jobs/query, `timeoutMs`). */
const ANSWER_MS = 10_000;

/** https://cloud.google.com/bigquery/docs/error-messages */
const injected: InjectedErrors = {
  unavailable: new RestError(
    503,
    "backendError",
    "Error encountered during execution. Retrying may solve the problem.",
  ),
  permission_denied: new RestError(403, "accessDenied", "Access Denied: the caller has no permission"),
  resource_exhausted: new RestError(403, "rateLimitExceeded", "Exceeded rate limits"),
};

const pause = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis).unref());

export const startFakeBigQuery = async ({ entries, pageRows = 1000, adverse = noneAdverse }: FakeBigQueryOptions) => {
  const faults = new Faults();
  const logDataset = `${PROJECT}.linked_logs`;
  const billingTable = `${PROJECT}.costs.gcp_billing_export_resource_v1_010101_ABCDEF_010101`;
  const tables = await Tables.create(`${logDataset}._AllLogs`, billingTable);
  const costs: ExportedCost[] = [];
  const jobs = new Map<string, Job>();
  const requests = new Map<string, string>();
  let count = 0;
  let slowness = 0;

  const start = async (body: Message): Promise<string> => {
    if (body.useLegacySql !== false) throw new RestError(400, "invalidQuery", "The fake supports GoogleSQL only.");
    // "A request is considered duplicate of another only if they have the same request_id" (`requestId`).
    const known = requests.get(body.requestId);
    if (known !== undefined) return known;
    const looked = await dryRunStatistics(body.query, tables, BYTES_OF_ROW);
    const bytes = Number(looked.totalBytesProcessed);
    if (body.maximumBytesBilled !== undefined && bytes > Number(body.maximumBytesBilled))
      throw new RestError(400, "bytesBilledLimitExceeded", `Query exceeded limit for bytes billed: ${bytes}`);
    const id = `job_${++count}`;
    if (body.requestId !== undefined) requests.set(body.requestId, id);
    const inMicros = body.formatOptions?.useInt64Timestamp === true;
    const isLate = body.jobTimeoutMs !== undefined && slowness > Number(body.jobTimeoutMs);
    const work = async (): Promise<Result | RestError> => {
      await pause(isLate ? Number(body.jobTimeoutMs) : slowness);
      if (isLate) return new RestError(400, "timeout", "Job timed out");
      return runStatement(body.query, tables, inMicros).catch((error: RestError) => error);
    };
    const job: Job = { result: work(), settled: undefined };
    void job.result.then((settled) => {
      job.settled ??= settled;
    });
    jobs.set(id, job);
    return id;
  };

  const results = async (id: string, within: number, size: number, pageToken: string | undefined): Promise<object> => {
    const job = jobs.get(id);
    if (job === undefined) throw new RestError(404, "notFound", `Not found: Job ${PROJECT}:${id}`);
    await Promise.race([job.result, pause(within)]);
    const jobReference = { projectId: PROJECT, jobId: id, location: "EU" };
    if (job.settled === undefined) return { jobComplete: false, jobReference };
    if (job.settled instanceof RestError) throw job.settled;
    const { fields, rows } = job.settled;
    const from = Number(pageToken ?? 0);
    const to = from + Math.min(size, pageRows);
    return {
      jobComplete: true,
      jobReference,
      schema: { fields },
      totalRows: String(rows.length),
      rows: rows.slice(from, to),
      ...(to < rows.length ? { pageToken: String(to) } : {}),
    };
  };

  const insert = async ({ configuration }: Message): Promise<object> => {
    if (configuration.dryRun !== true) throw new RestError(400, "invalid", "The fake supports dry runs only.");
    const seen = await dryRunStatistics(configuration.query.query, tables, BYTES_OF_ROW);
    const referencedTables = adverse.has("tables_behind_views")
      ? seen.referencedTables.flatMap((table) => (table.tableId === "_AllLogs" ? tablesBehindView : [table]))
      : seen.referencedTables;
    const query = { ...seen, referencedTables };
    const jobReference = { projectId: PROJECT, location: "EU" };
    return {
      jobReference,
      status: { state: "DONE" },
      statistics: { totalBytesProcessed: query.totalBytesProcessed, query },
    };
  };

  const stop = (id: string): object => {
    const job = jobs.get(id);
    if (job === undefined) throw new RestError(404, "notFound", `Not found: Job ${PROJECT}:${id}`);
    // "stopped: ... the job is canceled" (error-messages).
    job.settled ??= new RestError(400, "stopped", "Job execution was cancelled: User requested cancellation");
    return { job: { status: { state: "DONE" } } };
  };

  type Act = () => Promise<object> | object;
  /** The API method for the request's path, and its action. */
  const methodOf = ({ verb, url, body }: RestRequest): readonly [string, Act] | undefined => {
    const path = url.pathname.replace(`/bigquery/v2/projects/${PROJECT}`, "");
    const [, part, id, action] = path.split("/");
    if (verb === "POST" && path === "/jobs") return ["bigquery.jobs.insert", () => insert(body)];
    if (verb === "POST" && path === "/queries")
      return [
        "bigquery.jobs.query",
        async () => results(await start(body), body.timeoutMs ?? ANSWER_MS, body.maxResults ?? pageRows, undefined),
      ];
    if (verb === "POST" && part === "jobs" && action === "cancel")
      return ["bigquery.jobs.cancel", () => stop(id ?? "")];
    if (verb !== "GET" || part !== "queries") return undefined;
    const { searchParams: asked } = url;
    const [within, size] = [Number(asked.get("timeoutMs") ?? ANSWER_MS), Number(asked.get("maxResults") ?? pageRows)];
    const token = asked.get("pageToken") ?? undefined;
    return ["bigquery.jobs.getQueryResults", () => results(id ?? "", within, size, token)];
  };

  const route = (request: RestRequest): RestMethod | undefined => {
    const [method, act] = methodOf(request) ?? [];
    if (method === undefined || act === undefined) return undefined;
    const caughtUp = async () => {
      await tables.catchUp(entries(), costs);
      return act();
    };
    return { method, act: caughtUp };
  };

  const server = await serveRest({ host: "bigquery.googleapis.com", faults, route, injected });
  const clientSettings = {
    projectId: PROJECT,
    apiEndpoint: server.origin,
    autoRetry: false,
    authClient: new PassThroughClient(),
  };
  const { BigQuery } = await import("@google-cloud/bigquery");
  return {
    logDataset,
    billingTable,
    faults,
    client: new BigQuery(clientSettings as never),
    clientSettings,
    /** Adds a row to the billing export. */
    charge: (cost: ExportedCost) => void costs.push(cost),
    /** Sets the duration of each further query, in milliseconds. */
    slowDown: (millis: number) => {
      slowness = millis;
    },
    close: async () => server.close(),
  };
};

export type FakeBigQuery = Awaited<ReturnType<typeof startFakeBigQuery>>;
