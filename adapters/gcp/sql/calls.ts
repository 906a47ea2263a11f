/** The BigQuery REST calls that run a statement: https://cloud.google.com/bigquery/docs/reference/rest */
import type { BigQuery, JobMetadata, TableField } from "@google-cloud/bigquery";
import { sendRest } from "../call-policy.ts";
import type { Row } from "./values.ts";

export type JobReference = NonNullable<JobMetadata["jobReference"]>;

/** https://cloud.google.com/bigquery/docs/reference/rest/v2/jobs/query#response-body */
export interface QueryResponse {
  readonly jobComplete?: boolean;
  readonly jobReference?: JobReference;
  readonly schema?: { readonly fields?: readonly TableField[] };
  readonly rows?: readonly Row[];
  readonly totalRows?: string;
  readonly pageToken?: string;
}

/** Requests timestamps as integer microseconds: floating-point numbers would lose precision. */
const formatOptions = { useInt64Timestamp: true } as const;

export interface Query {
  readonly query: string;
  readonly location: string | undefined;
}

/** Analyzes a statement without running it. @param jobId a new id, because BigQuery requires one */
export const dryRun = (client: BigQuery, { query, location }: Query, jobId: string): Promise<JobMetadata> =>
  sendRest(client, {
    method: "POST",
    uri: "/jobs",
    json: {
      jobReference: { projectId: client.projectId, jobId, location },
      configuration: { dryRun: true, query: { query, useLegacySql: false } },
    },
  });

export interface QueryLimits {
  readonly maximumBytesBilled: number;
  /** Milliseconds after which BigQuery cancels the job. */
  readonly jobTimeout: number;
  /** Milliseconds after which BigQuery responds without rows while the job continues. */
  readonly responseTimeout: number;
  readonly rowsPerPage: number;
}

/** @param requestId idempotency key: BigQuery does not run two queries with the same key */
export const startQuery = (
  client: BigQuery,
  { query, location }: Query,
  limits: QueryLimits,
  requestId: string,
): Promise<QueryResponse> =>
  sendRest(client, {
    method: "POST",
    uri: "/queries",
    json: {
      query,
      requestId,
      formatOptions,
      useLegacySql: false,
      location,
      maximumBytesBilled: String(limits.maximumBytesBilled),
      jobTimeoutMs: String(limits.jobTimeout),
      timeoutMs: limits.responseTimeout,
      maxResults: limits.rowsPerPage,
      labels: { "portside-part": "sql" },
    },
  });

export const fetchNextPage = (
  client: BigQuery,
  { jobId, location }: JobReference,
  limits: Pick<QueryLimits, "responseTimeout" | "rowsPerPage">,
  pageToken: string | undefined,
): Promise<QueryResponse> =>
  sendRest(client, {
    method: "GET",
    uri: `/queries/${jobId}`,
    qs: {
      timeoutMs: limits.responseTimeout,
      maxResults: limits.rowsPerPage,
      "formatOptions.useInt64Timestamp": true,
      ...(location === undefined ? {} : { location }),
      ...(pageToken === undefined ? {} : { pageToken }),
    },
  });

export const cancel = (client: BigQuery, { jobId, location }: JobReference): Promise<unknown> =>
  sendRest(client, {
    method: "POST",
    uri: `/jobs/${jobId}/cancel`,
    ...(location === undefined ? {} : { qs: { location } }),
  });
