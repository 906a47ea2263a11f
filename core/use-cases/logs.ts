/** Reading a deployment's log. */
import { mayUse, type Principal } from "../domain/account.ts";
import type { Feature } from "../domain/capabilities.ts";
import { parseFields } from "../domain/fields.ts";
import { type Issue, issue } from "../domain/issue.ts";
import { type LogPage, logPageOf } from "../domain/log-entry.ts";
import type { DeploymentName } from "../domain/names.ts";
import { logsFields } from "../domain/requests.ts";
import { type ControlPlaneError, forbidden, invalidInput, notFound } from "../errors.ts";
import type { CallOptions } from "../ports/system.ts";
import { err, ok, type ResultAsync } from "../result.ts";
import { attempt } from "./attempt.ts";
import type { Context } from "./context.ts";
import type { Raw } from "./raw.ts";

const needs = (given: unknown, one: Feature, field: string): Issue[] =>
  given !== undefined && given !== null && given !== "" && !one.supported
    ? [issue([field], one.reason, "unsupported")]
    : [];

/** The newest entries of a deployment, oldest first; also of one that was deleted, while its log is kept. */
export const readLogs = (
  context: Context,
  principal: Principal,
  raw: Raw,
  options: CallOptions = {},
): ResultAsync<LogPage, ControlPlaneError> =>
  attempt<LogPage, ControlPlaneError>(async () => {
    const { provider, clock } = context.ports;
    const { values, issues } = parseFields(logsFields, raw);
    const { logs } = provider.capabilities;
    const all = [...issues, ...needs(raw["since"], logs.since, "since"), ...needs(raw["query"], logs.query, "query")];
    if (all.length > 0) return err(invalidInput(all));
    const service = values.deployment_name as DeploymentName;
    const found = await provider.services.find(service, options);
    if (found.isErr()) return err(found.error);
    if (!mayUse(principal.account, found.value)) return err(forbidden(`'${service}' belongs to another account.`));
    const asked = clock.now();
    const entries = await provider.logs.newest({ owner: principal.account, service }, values.limit as number, options);
    if (entries.isErr()) return err(entries.error);
    if (found.value.kind !== "held" && entries.value.length === 0)
      return err(notFound(`There is no deployment '${service}'.`));
    return ok(logPageOf(entries.value, asked));
  });
