/** The histogram of a deployment's log, and its fields with their values. Both search the newest entries first. */
import { fieldLimits } from "../../domain/accounts/limits.ts";
import { behind, LAST, type LogPosition } from "../../domain/logs/cursor.ts";
import type { LogEntry } from "../../domain/logs/entry.ts";
import { FieldValues, type LogValues } from "../../domain/logs/field-values.ts";
import type { LogFilter } from "../../domain/logs/filter/tree.ts";
import { bucketEdges, edgesUpTo, HistogramCounter, type LogHistogram } from "../../domain/logs/histogram.ts";
import { descendingPart, notBefore, type PageRange } from "../../domain/logs/page.ts";
import type { RawFields, Values } from "../../domain/wire/fields.ts";
import { plusMillis } from "../../domain/wire/instant.ts";
import { type Issue, issue } from "../../domain/wire/issue.ts";
import type { DeploymentName } from "../../domain/wire/names.ts";
import { logHistogramFields, logValuesFields } from "../../domain/wire/requests.ts";
import { type ControlPlaneError, internal } from "../../errors.ts";
import { err, ok, type Result } from "../../result.ts";
import { findName } from "../deploy/find-name.ts";
import type { Context } from "../pipeline/context.ts";
import { type Call, useCase } from "../pipeline/use-case.ts";
import { checkLog, checkSearch, queryOf, searchBackwards, settledUntil } from "./log-search.ts";

/** The range of a histogram without `since`. */
const DEFAULT_RANGE_MS = 3_600_000;

/** Number of entries to examine in one turn of the event loop. */
const YIELD_EVERY = 5;

interface Input extends PageRange {
  readonly deployment_name: DeploymentName;
  readonly filter: LogFilter;
}

/** The position after which the search examined all entries, or undefined if it examined the whole range. */
type Reached = LogPosition | undefined;

/**
 * Passes the entries of a range to `add`, newest pages first, until `max` entries or the time limit end the search.
 */
const examine = async (
  call: Call<Input>,
  range: PageRange,
  max: number,
  add: (entry: LogEntry) => void,
): Promise<Result<Reached, ControlPlaneError>> => {
  const { context, principal, input } = call;
  const { clock } = context.ports;
  const scope = { owner: principal.account, service: input.deployment_name };
  const filter = range.since === undefined ? input.filter : notBefore(input.filter, range.since);
  const ends = plusMillis(clock.now(), context.settings.logLimits.timeoutMs);
  const start = range.until ?? LAST;
  for (let [position, left] = [start, max]; ; ) {
    const timeoutMs = Math.max(0, Number(ends - clock.now()) / 1e6);
    const query = { filter, limit: Math.min(left, fieldLimits.logs.max), until: position };
    const found = await searchBackwards(call, scope, position, queryOf(context, query, timeoutMs));
    if (found.isErr()) return err(found.error);
    const { entries, cursor, isEnd } = descendingPart(found.value, { ...range, until: position }, start);
    for (const [index, entry] of entries.entries()) {
      add(entry);
      // Lets other requests run, because examining an entry may take a millisecond.
      if (index % YIELD_EVERY === YIELD_EVERY - 1) await clock.sleep(0);
    }
    left -= entries.length;
    position = cursor;
    if (isEnd) return ok(undefined);
    if (left === 0 || clock.now() >= ends) return ok(position);
  }
};

interface HistogramRange {
  readonly since: LogPosition;
  readonly until: LogPosition;
}

const checkHistogram = (
  valid: Partial<Values<typeof logHistogramFields>>,
  context: Context,
  raw: RawFields,
): Result<HistogramRange & { readonly filter: LogFilter }, readonly Issue[]> =>
  checkSearch(valid, context, raw).andThen((search) => {
    const until = search.until ?? behind(context.ports.clock.now());
    const since = search.since ?? behind(plusMillis(until.instant, -DEFAULT_RANGE_MS));
    return since.instant < until.instant
      ? ok({ ...search, since, until })
      : err([issue(["until"], "must be later than since", "value_error")]);
  });

/** Counts the visible entries between the edges, until the time limit ends the search. */
const countEntries = async (
  { context, principal, input, options }: Call<Omit<Input, keyof PageRange>>,
  edges: readonly LogPosition[],
): Promise<Result<LogHistogram, ControlPlaneError>> => {
  const { clock, provider } = context.ports;
  const { logs } = provider;
  if (logs.count === undefined)
    return err(internal("The provider declares the capability `logs.histogram`, but does not implement `count`."));
  const scope = { owner: principal.account, service: input.deployment_name };
  const ends = plusMillis(clock.now(), context.settings.logLimits.timeoutMs);
  const settled = settledUntil(context);
  const counter = new HistogramCounter(edges);
  let reached: LogPosition | undefined;
  for (let left = settled === undefined ? edges : edgesUpTo(edges, behind(settled)); left.length > 1; ) {
    const timeoutMs = Math.max(0, Number(ends - clock.now()) / 1e6);
    const found = await logs.count(scope, { filter: input.filter, edges: left, timeoutMs }, options);
    if (found.isErr()) return err(found.error);
    counter.add(found.value.counts);
    reached = found.value.seen;
    if (reached === undefined || clock.now() >= ends) break;
    left = edgesUpTo(left, reached);
  }
  return ok(counter.histogram(reached));
};

/** Counts the entries of a deployment's log over time, by severity. */
export const getLogHistogram = useCase({
  fields: logHistogramFields,
  check: checkHistogram,
  requires: ({ logs }) => logs.histogram,
  authorize: (call) => findName(call, call.input.deployment_name),
  run: async (call, state): Promise<Result<LogHistogram, ControlPlaneError>> => {
    const { since, until, buckets, deployment_name: service } = call.input;
    const exists = await checkLog(call, { owner: call.principal.account, service }, state);
    if (exists.isErr()) return err(exists.error);
    return countEntries(call, bucketEdges(since, until, buckets));
  },
});

/** Lists the fields of a deployment's newest entries, with their most frequent values. */
export const listLogValues = useCase({
  fields: logValuesFields,
  check: checkSearch,
  requires: ({ logs }) => logs.values,
  authorize: (call) => findName(call, call.input.deployment_name),
  run: async (call, state): Promise<Result<LogValues, ControlPlaneError>> => {
    const { since, until, field, prefix, limit, deployment_name: service } = call.input;
    const exists = await checkLog(call, { owner: call.principal.account, service }, state);
    if (exists.isErr()) return err(exists.error);
    const values = new FieldValues({ field: field ?? undefined, prefix, limit });
    const { valueEntries } = call.context.settings.logLimits;
    const examined = await examine(call, { since, until }, valueEntries, (entry) => values.add(entry));
    return examined.map((reached) => values.list(reached !== undefined));
  },
});
