/** Builds a filter that reads several logs with one call. */

import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { printLogFilter } from "../../../core/domain/logs/filter/print.ts";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import type { LogToRead } from "../../cloud/logs/followers.ts";
import { compileRe2 } from "../../shared/logs/re2.ts";
import type { GcpLocation } from "../location.ts";
import { all, any, type Bound } from "./bound.ts";
import { pushdownOf } from "./pushdown.ts";
import { at, logsOf, ownerIs, serviceIs } from "./scope.ts";

/** "Length of a Logging query language query: 20,000 characters" (https://docs.cloud.google.com/logging/quotas). */
export const FILTER_CHARS = 20_000;
/** The platform evaluates a longer condition itself, so that the shared filter has room for other logs. */
const MAX_CONDITION_CHARS = 1000;
/** Characters around a term: the parentheses and the operator. */
const JOINT_CHARS = 8;

/** Returns the part of a log's filter that the cloud evaluates in a shared call. */
export const sharedCondition = (location: GcpLocation, { scope, filter }: LogToRead): Bound => {
  const bound = pushdownOf(filter, { project: location.project, scope, compile: compileRe2 });
  return typeof bound === "boolean" || printLogFilter(bound).length <= MAX_CONDITION_CHARS ? bound : true;
};

export interface SharedFilter<L> {
  readonly read: readonly L[];
  /** Absent if no entry can match. */
  readonly filter?: string;
}

/** The condition for the entries of one service. */
const serviceTerm = (location: GcpLocation, logs: readonly LogToRead[], from: Instant): Bound => {
  const [{ scope, through: first }] = logs as [LogToRead];
  const later = first.instant === from ? [] : at(">=", first.instant);
  return all([serviceIs(scope), ...later, any(logs.map((log) => sharedCondition(location, log)))]);
};

const charsOf = (bound: Bound): number => (typeof bound === "boolean" ? 0 : printLogFilter(bound).length + JOINT_CHARS);

/**
 * Joins logs in their order until the filter is full. The filter names each account and each service once.
 *
 * @param logs sorted by `through`, the position where the read of each log begins
 */
export const sharedFilter = <L extends LogToRead>(
  location: GcpLocation,
  logs: readonly L[],
  until: Instant,
): SharedFilter<L> => {
  const from = logs[0]?.through.instant ?? until;
  // The time bounds are first, because they exclude most entries.
  const common = [...at(">=", from), ...at("<=", until), ...logsOf(location)];
  let chars = charsOf(all(common));
  const read: L[] = [];
  const accounts = new Map<AccountId, Map<DeploymentName, readonly L[]>>();
  for (const log of logs) {
    const { owner, service } = log.scope;
    const services = accounts.get(owner) ?? new Map<DeploymentName, readonly L[]>();
    const before = services.get(service) ?? [];
    chars +=
      charsOf(serviceTerm(location, [...before, log], from)) + (services.size === 0 ? charsOf(ownerIs(owner)) : 0);
    if (before.length > 0) chars -= charsOf(serviceTerm(location, before, from));
    if (chars > FILTER_CHARS) break;
    read.push(log);
    accounts.set(owner, services.set(service, [...before, log]));
  }
  const termOf = ([owner, services]: readonly [AccountId, ReadonlyMap<DeploymentName, readonly L[]>]) =>
    all([ownerIs(owner), any([...services.values()].map((some) => serviceTerm(location, some, from)))]);
  const joined = all([...common, any([...accounts].map(termOf))]);
  return typeof joined === "boolean" ? { read } : { read, filter: printLogFilter(joined) };
};
