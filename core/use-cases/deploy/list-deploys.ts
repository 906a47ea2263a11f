/** The use case that lists the recent deploys of an account. */
import {
  type DeployList,
  type DeployRow,
  newestDeploys,
  rowOfKnown,
  rowsOfEntries,
} from "../../domain/deploy/deploy-list.ts";
import { parseLogFilter } from "../../domain/logs/filter/parse.ts";
import type { DeploymentName } from "../../domain/wire/names.ts";
import { listDeploysFields } from "../../domain/wire/requests.ts";
import { type ControlPlaneError, internal, notFound } from "../../errors.ts";
import { err, ok, okAsync, type Result, ResultAsync, safeTry } from "../../result.ts";
import { type Caller, useCase } from "../pipeline/use-case.ts";
import { LIST_MAX_AGE_MS } from "./deployments.ts";
import { findName } from "./find-name.ts";

/** How long the search of all logs may take. */
const SEARCH_MS = 5000;

/** A deploy has an entry at its start and one at its end. */
const ENTRIES_PER_DEPLOY = 2;

interface Found {
  readonly rows: readonly DeployRow[];
  readonly partial: boolean;
}

/** Searches the log of one deployment. */
const searchLog = (
  { context, principal, options }: Caller,
  service: DeploymentName,
  limit: number,
): ResultAsync<Found, ControlPlaneError> => {
  const { provider, compilePattern } = context.ports;
  const parsed = parseLogFilter('logName="platform" AND jsonPayload.event="deploy"', compilePattern);
  return parsed
    .mapErr((problem): ControlPlaneError => internal("The filter of deploys is invalid.", problem))
    .asyncAndThen((filter) =>
      provider.logs.newest(
        { owner: principal.account, service },
        { filter, limit: limit * ENTRIES_PER_DEPLOY, timeoutMs: SEARCH_MS },
        options,
      ),
    )
    .map(({ entries, partial }) => ({ rows: rowsOfEntries(service, entries), partial }));
};

/** Returns the account's deployments, with those whose first deploy ran in this process. */
const ownNames = ({ context, principal, options }: Caller): ResultAsync<readonly DeploymentName[], ControlPlaneError> =>
  context.ports.provider.services
    .list(principal.account, { ...options, maxAgeMs: LIST_MAX_AGE_MS })
    .map((services) => [
      ...new Set([...services, ...context.deploys.ofAccount(principal.account)].map(({ name }) => name)),
    ]);

/** Lists the recent deploys of the account or of one deployment, newest first. */
export const listDeploys = useCase({
  fields: listDeploysFields,
  authorize: async (call): Promise<Result<boolean, ControlPlaneError>> => {
    const { name } = call.input;
    return name == null ? ok(true) : (await findName(call, name)).map(({ kind }) => kind === "held");
  },
  run: (call, exists) =>
    safeTry<DeployList, ControlPlaneError>(async function* () {
      const { context, principal, input } = call;
      const { name, limit } = input;
      const names = yield* await (name == null ? ownNames(call) : okAsync([name]));
      const found = yield* await ResultAsync.combine(names.map((one) => searchLog(call, one, limit)));
      const known = context.deploys
        .ofAccount(principal.account)
        .filter((run) => name == null || run.name === name)
        .flatMap((run) => rowOfKnown(run) ?? []);
      const logged = found.flatMap(({ rows }) => rows);
      const deploys = newestDeploys(known, logged, limit);
      // The deploys of a deleted deployment remain in its log.
      if (!exists && deploys.length === 0) return err(notFound(`The deployment '${name}' does not exist.`));
      return ok({ deploys: [...deploys], partial: found.some(({ partial }) => partial) });
    }),
});
