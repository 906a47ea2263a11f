/** The parts that all searches of a deployment's log share: the checks of their fields, and the store's query. */
import { comparePositions, type LogPosition } from "../../domain/logs/cursor.ts";
import { parseLogFilter } from "../../domain/logs/filter/parse.ts";
import { describeProblem } from "../../domain/logs/filter/problem.ts";
import { everything, type LogFilter } from "../../domain/logs/filter/tree.ts";
import type { PageRange } from "../../domain/logs/page.ts";
import type { Feature } from "../../domain/wire/capabilities.ts";
import type { RawFields } from "../../domain/wire/fields.ts";
import { type Instant, plusMillis } from "../../domain/wire/instant.ts";
import { type Issue, issue } from "../../domain/wire/issue.ts";
import { type ControlPlaneError, internal, notFound } from "../../errors.ts";
import type { EarlierFindings, LogQuery, LogScope } from "../../ports/log-store.ts";
import type { NameState } from "../../ports/service-platform.ts";
import { err, errAsync, ok, type Result, type ResultAsync } from "../../result.ts";
import type { Context } from "../pipeline/context.ts";
import type { Caller } from "../pipeline/use-case.ts";

interface SearchInput {
  readonly since?: LogPosition | null | undefined;
  readonly until?: LogPosition | null | undefined;
  readonly query?: string | null | undefined;
}

/** Returns an issue if the request has a value for a field that the provider does not support. */
export const unsupportedField = (raw: RawFields, field: string, feature: Feature): Issue[] => {
  const value = raw[field];
  return value !== undefined && value !== null && value !== "" && !feature.supported
    ? [issue([field], feature.reason, "unsupported")]
    : [];
};

/** Checks the filter and the range of a search. */
export const checkSearch = (
  { since, until, query }: SearchInput,
  { ports }: Context,
  raw: RawFields,
): Result<PageRange & { readonly filter: LogFilter }, readonly Issue[]> => {
  const { logs } = ports.provider.capabilities;
  const issues = [
    ...unsupportedField(raw, "since", logs.since),
    ...unsupportedField(raw, "until", logs.descending),
    ...unsupportedField(raw, "query", logs.query),
  ];
  if (since && until && comparePositions(since, until) > 0)
    issues.push(issue(["until"], "must not be before since", "value_error"));
  const filter = parseLogFilter(logs.query.supported ? (query ?? "") : "", ports.compilePattern);
  if (filter.isErr()) issues.push(issue(["query"], describeProblem(filter.error), "value_error"));
  if (filter.isErr() || issues.length > 0) return err(issues);
  return ok({ filter: filter.value, since: since ?? undefined, until: until ?? undefined });
};

/** Returns the latest time of an entry that a search may return. Undefined if new entries appear immediately. */
export const settledUntil = ({ ports }: Context): Instant | undefined => {
  const settle = ports.provider.capabilities.logs.settle_seconds * 1000;
  return settle === 0 ? undefined : plusMillis(ports.clock.now(), -settle);
};

/** Returns the store's query for the visible entries up to `until`. */
export const queryOf = (
  context: Context,
  {
    filter,
    limit,
    until,
  }: { readonly filter: LogFilter; readonly limit: number; readonly until?: LogPosition | undefined },
  timeoutMs = context.settings.logLimits.timeoutMs,
): LogQuery => {
  const settled = settledUntil(context);
  const bound = until !== undefined && (settled === undefined || until.instant < settled) ? until.instant : settled;
  return { filter, limit, timeoutMs, ...(bound === undefined ? {} : { until: bound }) };
};

/** Searches backwards. The caller must check the capability `descending`. */
export const searchBackwards = (
  { context, options }: Caller,
  scope: LogScope,
  position: LogPosition,
  query: LogQuery,
): ResultAsync<EarlierFindings, ControlPlaneError> =>
  context.ports.provider.logs.before?.(scope, position, query, options) ??
  errAsync(internal("The provider declares the capability `logs.descending`, but does not implement `before`."));

/** Returns true if the log has an entry or cannot be read. */
const hasLog = async ({ context, options }: Caller, scope: LogScope): Promise<boolean> => {
  const query = { filter: everything, limit: 1, timeoutMs: context.settings.logLimits.timeoutMs };
  const newest = await context.ports.provider.logs.newest(scope, query, options);
  return newest.isErr() || newest.value.seen !== undefined;
};

/**
 * Fails with `not_found` if neither the service nor its log exists. A name with log entries but without a service
 * belongs to a deleted deployment. A name without entries was never deployed, or its entries have expired.
 */
export const checkLog = async (
  caller: Caller,
  scope: LogScope,
  state: NameState,
): Promise<Result<void, ControlPlaneError>> =>
  state.kind === "held" || (await hasLog(caller, scope))
    ? ok()
    : err(notFound(`The deployment '${scope.service}' does not exist.`));
