/** Reads the log of a deployment, page by page. */
import { before, LAST } from "../../domain/logs/cursor.ts";
import type { LogPage } from "../../domain/logs/entry.ts";
import { lowerBound } from "../../domain/logs/filter/bounds.ts";
import type { LogFilter } from "../../domain/logs/filter/tree.ts";
import {
  ascendingPart,
  descendingPart,
  logPageOf,
  newestPart,
  notBefore,
  type PagePart,
  type PageRange,
} from "../../domain/logs/page.ts";
import type { RawFields, Values } from "../../domain/wire/fields.ts";
import { type Issue, issue } from "../../domain/wire/issue.ts";
import { logsFields } from "../../domain/wire/requests.ts";
import { type ControlPlaneError, unauthenticated } from "../../errors.ts";
import type { LogScope } from "../../ports/log-store.ts";
import { err, ok, type Result, type ResultAsync } from "../../result.ts";
import { findName } from "../deploy/find-name.ts";
import type { Context } from "../pipeline/context.ts";
import { type Call, useCase } from "../pipeline/use-case.ts";
import { checkLog, checkSearch, queryOf, searchBackwards, settledUntil } from "./log-search.ts";

type Input = Omit<Values<typeof logsFields>, "since" | "until"> & PageRange & { readonly filter: LogFilter };

/** A page that `logPageOf` has not formatted yet. */
type Part = PagePart & {
  readonly pollAfterMs?: number | undefined;
  /** True if the log may have no entries. The deployment might then not exist. */
  readonly isBlank: boolean;
};

const checkQuery = (
  valid: Partial<Values<typeof logsFields>>,
  context: Context,
  raw: RawFields,
): Result<PageRange & { readonly filter: LogFilter }, readonly Issue[]> => {
  const { descending } = context.ports.provider.capabilities.logs;
  const issues: Issue[] = [];
  if (valid.order === "desc" && !descending.supported) issues.push(issue(["order"], descending.reason, "unsupported"));
  if ((valid.wait ?? 0) > 0 && (valid.order === "desc" || valid.until))
    issues.push(
      issue(["wait"], "must be 0 with `until` or in descending order, because no entry follows", "value_error"),
    );
  const search = checkSearch(valid, context, raw);
  if (search.isOk() && issues.length === 0) return search;
  return err([...(search.isErr() ? search.error : []), ...issues]);
};

/** Reads the entries after a position: `since`, or else the filter's lower time bound. */
const readForwards = (
  { context, input, options }: Call<Input>,
  scope: LogScope,
  since: NonNullable<PageRange["since"]>,
): ResultAsync<Part, ControlPlaneError> =>
  context.ports.provider.logs.after(scope, since, queryOf(context, input), options).map((found) => ({
    ...ascendingPart(found, input, since),
    pollAfterMs: found.pollAfterMs,
    isBlank: found.seen === undefined,
  }));

const readNewest = (call: Call<Input>, scope: LogScope): ResultAsync<Part, ControlPlaneError> => {
  const { context, input, options } = call;
  const { provider, clock } = context.ports;
  const now = before(settledUntil(context) ?? clock.now());
  const { until } = input;
  const query = queryOf(context, input);
  if (until !== undefined)
    return searchBackwards(call, scope, until, query).map((found) => ({
      ...newestPart(found, until, now),
      isBlank: found.entries.length === 0,
    }));
  return provider.logs.newest(scope, query, options).map((found) => ({
    ...ascendingPart(found, {}, now),
    pollAfterMs: found.pollAfterMs,
    isBlank: found.seen === undefined,
  }));
};

const readBackwards = (call: Call<Input>, scope: LogScope): ResultAsync<Part, ControlPlaneError> => {
  const { context, input } = call;
  const { since, until, filter } = input;
  const now = before(settledUntil(context) ?? context.ports.clock.now());
  const query = queryOf(context, { ...input, filter: since === undefined ? filter : notBefore(filter, since) });
  return searchBackwards(call, scope, until ?? LAST, query).map((found) => ({
    ...descendingPart(found, input, now),
    isBlank: found.entries.length === 0,
  }));
};

const readPart = (call: Call<Input>, scope: LogScope): ResultAsync<Part, ControlPlaneError> => {
  const { input } = call;
  if (input.order === "desc") return readBackwards(call, scope);
  const position = input.since ?? lowerBound(input.filter);
  return position === undefined ? readNewest(call, scope) : readForwards(call, scope, position);
};

/** Milliseconds after which a client should read again if its request may not wait. */
const RETRY_MS = 1000;

/** Fails if the credential of a request that waits has become invalid. */
const checkCredential = async ({ principal, options }: Call<Input>): Promise<Result<void, ControlPlaneError>> => {
  if (options.reauthenticate === undefined) return ok();
  const current = await options.reauthenticate();
  if (current.isErr()) return err(current.error);
  return current.value.account === principal.account
    ? ok()
    : err(unauthenticated("The request's account has changed. Send the request again."));
};

/** Waits until an entry matches, the wait ends, or the credential becomes invalid. */
const holdPart = async (call: Call<Input>, scope: LogScope, first: Part): Promise<Result<Part, ControlPlaneError>> => {
  const { context, principal, input, options } = call;
  if (input.wait === 0 || first.entries.length > 0 || first.partial) return ok(first);
  const { heldReads } = context;
  if (!heldReads.isAvailable(principal.account))
    return ok({ ...first, pollAfterMs: Math.max(first.pollAfterMs ?? 0, RETRY_MS) });
  return heldReads.hold<Result<Part, ControlPlaneError>>(ok(first), {
    account: principal.account,
    signal: options.signal,
    waitMs: input.wait * 1000,
    pauseAfter: (part) =>
      part.isOk() && part.value.entries.length === 0 && !part.value.partial ? (part.value.pollAfterMs ?? 0) : undefined,
    // A store with a read quota determines the time of the next read.
    nextEntry: (signal) =>
      first.pollAfterMs === undefined ? context.ports.provider.logs.nextEntry?.(scope, { signal }) : undefined,
    read: async (part) => {
      const found = await part.asyncAndThen(({ cursor }) => readForwards(call, scope, cursor));
      const valid = await checkCredential(call);
      return valid.isErr() ? err(valid.error) : found;
    },
  });
};

/** Returns a page of a deployment's log. The log of a deleted deployment remains readable. */
export const readLogs = useCase({
  fields: logsFields,
  check: checkQuery,
  authorize: (call) => findName(call, call.input.deployment_name),
  run: async (call, state): Promise<Result<LogPage, ControlPlaneError>> => {
    const { input, principal } = call;
    const scope = { owner: principal.account, service: input.deployment_name };
    const first = await readPart(call, scope);
    if (first.isErr()) return err(first.error);
    if (first.value.isBlank) {
      const exists = await checkLog(call, scope, state);
      if (exists.isErr()) return err(exists.error);
    }
    return (await holdPart(call, scope, first.value)).map(({ pollAfterMs, ...part }) => {
      const page = logPageOf(part, { order: input.order, isFull: input.full });
      return pollAfterMs === undefined ? page : { ...page, pollAfterMs };
    });
  },
});
