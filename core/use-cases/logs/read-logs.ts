/** Reading a deployment's log: a page of it, and where the next one begins. */
import { mayUse, type Principal } from "../../domain/accounts/account.ts";
import { before, type LogPosition } from "../../domain/logs/cursor.ts";
import { type LogPage, logPageOf } from "../../domain/logs/entry.ts";
import { lowerBound } from "../../domain/logs/filter/bounds.ts";
import { parseLogFilter } from "../../domain/logs/filter/parse.ts";
import { describeProblem } from "../../domain/logs/filter/problem.ts";
import { everything, type LogFilter } from "../../domain/logs/filter/tree.ts";
import type { Feature } from "../../domain/wire/capabilities.ts";
import { parseFields } from "../../domain/wire/fields.ts";
import { plusMillis } from "../../domain/wire/instant.ts";
import { type Issue, issue } from "../../domain/wire/issue.ts";
import type { DeploymentName } from "../../domain/wire/names.ts";
import { logsFields } from "../../domain/wire/requests.ts";
import { type ControlPlaneError, forbidden, invalidInput, notFound } from "../../errors.ts";
import type { LogQuery, LogScope } from "../../ports/log-store.ts";
import type { CallOptions } from "../../ports/system.ts";
import { err, ok, type Result, type ResultAsync } from "../../result.ts";
import { catchBugs } from "../pipeline/catch-bugs.ts";
import type { Context } from "../pipeline/context.ts";
import type { Raw } from "../pipeline/raw.ts";

interface LogRequest {
  readonly service: DeploymentName;
  readonly limit: number;
  readonly filter: LogFilter;
  /** Where the page begins; absent: the newest entries. */
  readonly place: LogPosition | undefined;
}

const needs = (given: unknown, one: Feature, field: string): Issue[] =>
  given !== undefined && given !== null && given !== "" && !one.supported
    ? [issue([field], one.reason, "unsupported")]
    : [];

const readFilter = ({ ports }: Context, text: string): Result<LogFilter, Issue> =>
  parseLogFilter(text, ports.compilePattern).mapErr((problem) =>
    issue(["query"], describeProblem(problem), "value_error"),
  );

const readRequest = (context: Context, raw: Raw): Result<LogRequest, ControlPlaneError> => {
  const { logs } = context.ports.provider.capabilities;
  const { values, issues } = parseFields(logsFields, raw);
  const wanting = [...needs(raw["since"], logs.since, "since"), ...needs(raw["query"], logs.query, "query")];
  const query = typeof values.query === "string" && logs.query.supported ? values.query : "";
  const filter = readFilter(context, query);
  const all = [...issues, ...wanting, ...(filter.isErr() ? [filter.error] : [])];
  if (all.length > 0) return err(invalidInput(all));
  const tree = filter.unwrapOr(everything);
  return ok({
    service: values.deployment_name as DeploymentName,
    limit: values.limit as number,
    filter: tree,
    place: (values.since as LogPosition | null | undefined) ?? lowerBound(tree),
  });
};

/** True where the log has any entry, or cannot be asked. */
const hasLog = async ({ ports, settings }: Context, scope: LogScope, options: CallOptions): Promise<boolean> => {
  const query = { filter: everything, limit: 1, timeoutMs: settings.logLimits.timeoutMs };
  const any = await ports.provider.logs.newest(scope, query, options);
  return any.isErr() || any.value.seen !== undefined;
};

/**
 * A page of a deployment's log, oldest first; also of one that was deleted, while its log is kept:
 * behind `since`, else from the filter's own lower bound of time, else the newest entries.
 */
export const readLogs = (
  context: Context,
  principal: Principal,
  raw: Raw,
  options: CallOptions = {},
): ResultAsync<LogPage, ControlPlaneError> =>
  catchBugs<LogPage, ControlPlaneError>(async () => {
    const { provider, clock } = context.ports;
    const request = readRequest(context, raw);
    if (request.isErr()) return err(request.error);
    const { service, limit, filter, place } = request.value;
    const found = await provider.services.find(service, options);
    if (found.isErr()) return err(found.error);
    if (!mayUse(principal.account, found.value)) return err(forbidden(`'${service}' belongs to another account.`));
    const asked = clock.now();
    const settle = provider.capabilities.logs.settle_seconds * 1000;
    const query: LogQuery = {
      filter,
      limit,
      timeoutMs: context.settings.logLimits.timeoutMs,
      ...(settle === 0 ? {} : { until: plusMillis(asked, -settle) }),
    };
    const scope = { owner: principal.account, service };
    const read = await (place === undefined
      ? provider.logs.newest(scope, query, options)
      : provider.logs.after(scope, place, query, options));
    if (read.isErr()) return err(read.error);
    const { entries, seen, partial } = read.value;
    // A log without a deployment is one that was deleted; without entries, there never was one.
    if (found.value.kind !== "held" && seen === undefined && !(await hasLog(context, scope, options)))
      return err(notFound(`There is no deployment '${service}'.`));
    return ok(logPageOf(entries, seen ?? place ?? before(query.until ?? asked), partial));
  });
