/**
 * Conditions that restrict a call to a deployment's log. The conditions are syntax trees, so text from clients cannot
 * change their structure.
 */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { RESOURCE_TYPE } from "../../../core/domain/logs/filter/record.ts";
import type { Comparison, FieldPath, LogFilter } from "../../../core/domain/logs/filter/tree.ts";
import { type Instant, timestampOf } from "../../../core/domain/wire/instant.ts";
import type { LogScope } from "../../../core/ports/log-store.ts";
import { OWNER_LABEL } from "../../cloud/deploy/labels.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import type { GcpLocation } from "../location.ts";
import { any, type Bound } from "./bound.ts";
import type { ProtoEntry } from "./entry.ts";
import { fullLogName, logIds } from "./names.ts";

const equals = (path: FieldPath, text: string): LogFilter => ({ kind: "compare", path, op: "=", literal: { text } });

export const at = (op: Comparison, instant: Instant | undefined): readonly LogFilter[] =>
  instant === undefined ? [] : [{ kind: "compare", path: ["timestamp"], op, literal: { text: timestampOf(instant) } }];

/** Conditions that select the logs with entries of deployments. */
export const logsOf = ({ project, region }: GcpLocation): readonly Bound[] => [
  equals(["resource", "type"], RESOURCE_TYPE),
  equals(["resource", "labels", "location"], region),
  any(Object.keys(logIds).map((id) => equals(["logName"], fullLogName(project, id)))),
];

export const ownerIs = (owner: AccountId): LogFilter => equals(["labels", OWNER_LABEL], accountDigest(owner));

export const serviceIs = ({ service }: Pick<LogScope, "service">): LogFilter =>
  equals(["resource", "labels", "service_name"], service);

/** Returns a function that finds an entry's scope among the given ones. */
export const scopeFinder = (scopes: readonly LogScope[]): ((entry: ProtoEntry) => LogScope | undefined) => {
  const byLabels = new Map(scopes.map((scope) => [`${scope.service} ${accountDigest(scope.owner)}`, scope]));
  return ({ resource, labels }) => byLabels.get(`${resource?.labels?.["service_name"]} ${labels?.[OWNER_LABEL]}`);
};
