/** The use case that lists the recent deploys of an account. */
import { abandonedAfterMs } from "../../domain/accounts/limits.ts";
import {
  type DeployList,
  type DeployRow,
  newestDeploys,
  rowOfKnown,
  rowsOfEntries,
  withUnloggedEnd,
} from "../../domain/deploy/deploy-list.ts";
import type { DeployOutcome } from "../../domain/deploy/events.ts";
import type { Service } from "../../domain/deploy/service-template.ts";
import { parseLogFilter } from "../../domain/logs/filter/parse.ts";
import { plusMillis } from "../../domain/wire/instant.ts";
import type { DeploymentName } from "../../domain/wire/names.ts";
import { listDeploysFields } from "../../domain/wire/requests.ts";
import { type ControlPlaneError, internal, notFound } from "../../errors.ts";
import { err, ok, type Result, type ResultAsync, safeTry } from "../../result.ts";
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

/** A deployment, with its last deploy as the platform stores it. `last` is null during the deployment's first build. */
interface Searched {
  readonly name: DeploymentName;
  readonly last: DeployOutcome | null;
}

/** Searches the log of one deployment. */
const searchLog = (
  { context, principal, options }: Caller,
  { name: service, last }: Searched,
  { limit, timeoutMs }: { readonly limit: number; readonly timeoutMs: number },
): ResultAsync<Found, ControlPlaneError> => {
  const { provider, compilePattern, clock } = context.ports;
  const abandonedMs = abandonedAfterMs(context.settings.deployLimits);
  const parsed = parseLogFilter('logName="platform" AND jsonPayload.event="deploy"', compilePattern);
  return parsed
    .mapErr((problem): ControlPlaneError => internal("The filter of deploys is invalid.", problem))
    .asyncAndThen((filter) =>
      provider.logs.newest(
        { owner: principal.account, service },
        { filter, limit: limit * ENTRIES_PER_DEPLOY, timeoutMs },
        options,
      ),
    )
    .map(({ entries, partial }) => ({
      rows: rowsOfEntries(service, entries).map((row) => withUnloggedEnd(row, last, abandonedMs, clock.now())),
      partial,
    }));
};

/**
 * Searches the logs of all deployments, one after another, because providers limit the searches of all accounts
 * together. Ends early, with a partial result, at the time limit or when a search fails.
 */
const searchLogs = async (caller: Caller, all: readonly Searched[], limit: number): Promise<Found> => {
  const { clock } = caller.context.ports;
  const until = plusMillis(clock.now(), SEARCH_MS);
  const rows: DeployRow[] = [];
  for (const deployment of all) {
    const timeoutMs = Number((until - clock.now()) / 1_000_000n);
    const found = timeoutMs > 0 ? await searchLog(caller, deployment, { limit, timeoutMs }) : undefined;
    if (found === undefined || found.isErr()) return { rows, partial: true };
    rows.push(...found.value.rows);
    if (found.value.partial) return { rows, partial: true };
  }
  return { rows, partial: false };
};

/** Returns the account's deployments, including those whose first deploy began in this process. */
const ownDeployments = ({ context, principal, options }: Caller): ResultAsync<readonly Searched[], ControlPlaneError> =>
  context.ports.provider.services.list(principal.account, { ...options, maxAgeMs: LIST_MAX_AGE_MS }).map((services) => {
    const own = new Map(context.deploys.ofAccount(principal.account).map(({ name }) => [name, { name, last: null }]));
    const known = services.map(({ name, lastDeploy }): [DeploymentName, Searched] => [
      name,
      { name, last: lastDeploy },
    ]);
    return [...new Map<DeploymentName, Searched>([...own, ...known]).values()];
  });

/** Lists the recent deploys of the account or of one deployment, newest first. */
export const listDeploys = useCase({
  fields: listDeploysFields,
  authorize: async (call): Promise<Result<Service | undefined, ControlPlaneError>> => {
    const { name } = call.input;
    if (name == null) return ok(undefined);
    return (await findName(call, name)).map((state) => (state.kind === "held" ? state.service : undefined));
  },
  run: (call, service) =>
    safeTry<DeployList, ControlPlaneError>(async function* () {
      const { context, principal, input } = call;
      const { name, limit } = input;
      const found =
        name == null
          ? await searchLogs(call, yield* await ownDeployments(call), limit)
          : yield* await searchLog(call, { name, last: service?.lastDeploy ?? null }, { limit, timeoutMs: SEARCH_MS });
      const known = context.deploys
        .ofAccount(principal.account)
        .filter((run) => name == null || run.name === name)
        .flatMap((run) => rowOfKnown(run) ?? []);
      const deploys = newestDeploys(known, found.rows, limit);
      // The deploys of a deleted deployment remain in its log.
      if (name != null && service === undefined && deploys.length === 0)
        return err(notFound(`The deployment '${name}' does not exist.`));
      return ok({ deploys: [...deploys], partial: found.partial });
    }),
});
