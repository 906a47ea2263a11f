/** Adds up an account's costs: the model costs in the usage lines, and the provider's charges. */
import { costLimits, sqlLimits } from "../../domain/accounts/limits.ts";
import { deploymentOf } from "../../domain/deploy/deployment.ts";
import { before, type LogPosition } from "../../domain/logs/cursor.ts";
import { messageOf } from "../../domain/logs/entry.ts";
import { parseLogFilter } from "../../domain/logs/filter/parse.ts";
import type { LogFilter } from "../../domain/logs/filter/tree.ts";
import {
  type Charge,
  type ChargeKey,
  type CostReport,
  chargeOf,
  chargesStatement,
  costGroupOf,
  costReportOf,
  usageFilterOf,
} from "../../domain/usage/cost.ts";
import type { Period } from "../../domain/usage/month.ts";
import { readUsage } from "../../domain/usage/usage.ts";
import { UsageSums } from "../../domain/usage/usage-sums.ts";
import type { Values } from "../../domain/wire/fields.ts";
import { type Instant, millisOf, plusMillis } from "../../domain/wire/instant.ts";
import { type Issue, issue } from "../../domain/wire/issue.ts";
import { type DeploymentName, normalizeDeploymentName } from "../../domain/wire/names.ts";
import { costFields } from "../../domain/wire/requests.ts";
import { type ControlPlaneError, internal, invalidInput, type Unavailable, unavailable } from "../../errors.ts";
import type { SqlFailure } from "../../ports/sql-engine.ts";
import { err, ok, type Result, safeTry } from "../../result.ts";
import { LIST_MAX_AGE_MS } from "../deploy/deployments.ts";
import type { Context } from "../pipeline/context.ts";
import { type Call, type Caller, useCase } from "../pipeline/use-case.ts";
import { asQuery, collectRows } from "../sql/run-sql.ts";

const DAY_MS = 86_400_000;

type CostInput = Values<typeof costFields>;

const checkPeriod = (
  { since, until }: Partial<CostInput>,
  { ports }: Context,
): Result<{ readonly period: Period }, readonly Issue[]> => {
  const now = ports.clock.now();
  const to = until == null || until > now ? now : until;
  const from = since ?? plusMillis(to, -costLimits.defaultDays * DAY_MS);
  if (from >= to) return err([issue(["since"], "must be before `until` and in the past", "value_error")]);
  if (from < plusMillis(to, -costLimits.days * DAY_MS))
    return err([issue(["since"], `must be at most ${costLimits.days} days before \`until\``, "value_error")]);
  return ok({ period: { from, to } });
};

const failureOf = (failure: SqlFailure | Unavailable): ControlPlaneError => {
  switch (failure.kind) {
    case "unavailable":
      return failure;
    case "invalid_statement":
      return internal("The statement for the cost of infrastructure is invalid.", failure);
    case "failed":
      return unavailable("The cost of infrastructure cannot be read now. Try again.", 5, failure);
    default:
      return invalidInput([
        issue(["since"], "selects more charges than Portside can add up; request a shorter period", "value_error"),
      ]);
  }
};

/** Returns the provider's charges in the period. The statement does not come from the client, so it needs no check. */
const readCharges = ({ context, principal, options }: Caller, period: Period, key: ChargeKey) =>
  safeTry<readonly Charge[], ControlPlaneError>(async function* () {
    const { sql } = context.ports.provider;
    const scope = { owner: principal.account };
    const found = yield* await sql.run(scope, chargesStatement(period, key), sqlLimits, options).mapErr(failureOf);
    const rows = yield* (await collectRows(found)).mapErr(failureOf);
    return ok(rows.flatMap(([charged, currency, cost]) => chargeOf(key, charged, currency, cost) ?? []));
  });

interface Search {
  readonly period: Period;
  readonly filter: LogFilter;
  readonly by: CostInput["by"];
  readonly sums: UsageSums;
  /** The time at which the search stops, with partial sums. */
  readonly deadline: Instant;
}

/** Adds up one log. Returns the number of invalid lines, and whether the search ended early. */
const searchLog = async (
  { context: { ports }, principal, options }: Caller,
  service: DeploymentName,
  { period, filter, by, sums, deadline }: Search,
): Promise<Result<{ readonly unreadable: number; readonly partial: boolean }, ControlPlaneError>> => {
  const { logs } = ports.provider;
  const scope = { owner: principal.account, service };
  const until = (period.to - 1n) as Instant;
  let unreadable = 0;
  for (let position: LogPosition = before(period.from); ; ) {
    const timeoutMs = millisOf(deadline) - millisOf(ports.clock.now());
    if (timeoutMs <= 0) return ok({ unreadable, partial: true });
    const query = { filter, limit: costLimits.page, until, timeoutMs };
    const found = await logs.after(scope, position, query, options);
    if (found.isErr()) return err(found.error);
    const { entries, seen, partial } = found.value;
    for (const entry of entries) {
      const usage = readUsage(messageOf(entry));
      if (usage === undefined) unreadable++;
      else sums.add(costGroupOf(by, service, entry.instant, usage), usage);
    }
    if (seen === undefined || (entries.length < costLimits.page && !partial)) return ok({ unreadable, partial: false });
    position = seen;
  }
};

const readCosts = (call: Call<CostInput & { readonly period: Period }>) =>
  safeTry<CostReport, ControlPlaneError>(async function* () {
    const { context, principal, options, input } = call;
    const { provider, clock, compilePattern } = context.ports;
    const { by, period } = input;
    const { capabilities, services } = provider;
    const now = clock.now();
    const own = yield* await services.list(principal.account, { ...options, maxAgeMs: LIST_MAX_AGE_MS });
    const isCharged = capabilities.sql.queries.supported;
    const byDeployment = isCharged ? yield* await readCharges(call, period, "deployment") : null;
    const charges = isCharged && by === "day" ? yield* await readCharges(call, period, "day") : byDeployment;
    const present = own.map(deploymentOf).map(({ name, created_at }) => ({ name: name as DeploymentName, created_at }));
    const names = new Set<string>(present.map(({ name }) => name));
    const gone = [...new Set(byDeployment?.map(({ group }) => group))].filter(
      (name) => name !== null && !names.has(name),
    ) as string[];
    const deployments = [
      ...present,
      ...gone.map((name) => ({ name: normalizeDeploymentName(name) as DeploymentName })),
    ];
    const filter = yield* parseLogFilter(usageFilterOf(period), compilePattern).mapErr((problem) =>
      internal("The filter of usage lines is invalid.", problem),
    );
    const sums = new UsageSums();
    const search = { period, filter, by, sums, deadline: plusMillis(now, costLimits.searchMs) };
    let [unreadable, partial] = [0, false];
    for (const { name } of deployments) {
      const log = yield* await searchLog(call, name, search);
      unreadable += log.unreadable;
      partial ||= log.partial;
    }
    const { retention_days: retentionDays } = capabilities.logs;
    const costs = { period, by, sums, charges, deployments, retentionDays, partial, unreadable, now: millisOf(now) };
    return ok(costReportOf(costs));
  });

/** Returns a report of the account's costs in a period. Limited like a query, because it searches all logs. */
export const getCost = useCase({
  fields: costFields,
  check: checkPeriod,
  requires: (capabilities) => capabilities.logs.query,
  run: (call) => asQuery(call, () => readCosts(call)),
});
