/** Reads the log of a deployment, page by page. */
import { before, type LogPosition } from "../../domain/logs/cursor.ts";
import { logPageOf } from "../../domain/logs/entry.ts";
import { lowerBound } from "../../domain/logs/filter/bounds.ts";
import { parseLogFilter } from "../../domain/logs/filter/parse.ts";
import { describeProblem } from "../../domain/logs/filter/problem.ts";
import { everything } from "../../domain/logs/filter/tree.ts";
import type { Feature } from "../../domain/wire/capabilities.ts";
import type { RawFields, Values } from "../../domain/wire/fields.ts";
import { plusMillis } from "../../domain/wire/instant.ts";
import { type Issue, issue } from "../../domain/wire/issue.ts";
import { logsFields } from "../../domain/wire/requests.ts";
import { notFound } from "../../errors.ts";
import type { LogQuery, LogScope } from "../../ports/log-store.ts";
import { err, ok, type Result } from "../../result.ts";
import { findName } from "../deploy/find-name.ts";
import type { Context } from "../pipeline/context.ts";
import { type Caller, useCase } from "../pipeline/use-case.ts";

const unsupportedField = (raw: RawFields, field: string, feature: Feature): Issue[] => {
  const value = raw[field];
  return value !== undefined && value !== null && value !== "" && !feature.supported
    ? [issue([field], feature.reason, "unsupported")]
    : [];
};

/**
 * Parses the filter and determines the position after which the page begins: `since`, or else the filter's lower time
 * bound. Without a position, the page contains the newest entries.
 */
const checkQuery = (
  { since, query }: Partial<Values<typeof logsFields>>,
  { ports }: Context,
  raw: RawFields,
): Result<Pick<LogQuery, "filter"> & { readonly position: LogPosition | undefined }, readonly Issue[]> => {
  const { logs } = ports.provider.capabilities;
  const issues = [...unsupportedField(raw, "since", logs.since), ...unsupportedField(raw, "query", logs.query)];
  const filter = parseLogFilter(logs.query.supported ? (query ?? "") : "", ports.compilePattern);
  if (filter.isErr()) issues.push(issue(["query"], describeProblem(filter.error), "value_error"));
  if (filter.isErr() || issues.length > 0) return err(issues);
  return ok({ filter: filter.value, position: since ?? lowerBound(filter.value) });
};

/** Returns true if the log has an entry or cannot be read. */
const hasLog = async ({ context, options }: Caller, scope: LogScope): Promise<boolean> => {
  const query = { filter: everything, limit: 1, timeoutMs: context.settings.logLimits.timeoutMs };
  const newest = await context.ports.provider.logs.newest(scope, query, options);
  return newest.isErr() || newest.value.seen !== undefined;
};

/** Returns a page of a deployment's log, oldest entry first. The log of a deleted deployment remains readable. */
export const readLogs = useCase({
  fields: logsFields,
  check: checkQuery,
  authorize: (call) => findName(call, call.input.deployment_name),
  run: async (call, state) => {
    const { context, principal, input, options } = call;
    const { provider, clock } = context.ports;
    const { deployment_name: service, limit, filter, position } = input;
    const now = clock.now();
    const settle = provider.capabilities.logs.settle_seconds * 1000;
    const query: LogQuery = {
      filter,
      limit,
      timeoutMs: context.settings.logLimits.timeoutMs,
      ...(settle === 0 ? {} : { until: plusMillis(now, -settle) }),
    };
    const scope = { owner: principal.account, service };
    const read = await (position === undefined
      ? provider.logs.newest(scope, query, options)
      : provider.logs.after(scope, position, query, options));
    if (read.isErr()) return err(read.error);
    const { entries, seen, partial, pollAfterMs } = read.value;
    // A name with log entries but without a service belongs to a deleted deployment. A name without entries was never
    // deployed, or its entries have expired.
    if (state.kind !== "held" && seen === undefined && !(await hasLog(call, scope)))
      return err(notFound(`The deployment '${service}' does not exist.`));
    const page = logPageOf(entries, seen ?? position ?? before(query.until ?? now), partial);
    return ok(pollAfterMs === undefined ? page : { ...page, pollAfterMs });
  },
});
