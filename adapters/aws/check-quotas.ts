/** Reads the account's quotas and reports how many deployments, accounts and other resources they permit. */
import { type Finding, pass, warn } from "../../core/domain/wire/check.ts";
import { problemOf } from "./call-policy.ts";
import { type CeilingKind, ceilingRules, ceilingsOf, namedKinds, quotaIn, type ServiceQuota } from "./ceilings.ts";
import { type ClientSource, sendCommand } from "./clients.ts";
import type { AwsSettings } from "./config.ts";
import { listQuotas, type QuotaSource } from "./service-quotas.ts";

/** The check warns if the account can create fewer roles than this. */
const MIN_LEFT = 10;

/**
 * Checks the quota for IAM roles. Each Portside account uses one role, or two if it has set a secret.
 * https://docs.aws.amazon.com/IAM/latest/APIReference/API_GetAccountSummary.html
 */
async function* roleQuota(clients: ClientSource): AsyncGenerator<Finding> {
  const what = "IAM role quota";
  try {
    const { SummaryMap = {} } = await sendCommand(clients, "iam", "GetAccountSummaryCommand", {});
    const { Roles: used, RolesQuota: limit } = SummaryMap as Readonly<Record<string, number | undefined>>;
    if (used === undefined || limit === undefined) return yield warn(what, "IAM does not report it");
    const words = `${limit - used} of ${limit} left; each account uses one, or two if it has set a secret`;
    yield limit - used < MIN_LEFT
      ? warn(what, words, "https://console.aws.amazon.com/servicequotas/home/services/iam/quotas")
      : pass(what, words);
  } catch (error) {
    yield warn(what, `the check failed: ${problemOf(error)}`);
  }
}

type Listed = readonly ServiceQuota[] | { readonly problem: string };

/** Reads one service at a time, because Service Quotas throttles its callers. */
const listServices = async (source: QuotaSource): Promise<ReadonlyMap<string, Listed>> => {
  const listed = new Map<string, Listed>();
  for (const service of new Set(namedKinds.map(([, name]) => name.service)))
    try {
      listed.set(service, await listQuotas(service, source));
    } catch (error) {
      listed.set(service, { problem: problemOf(error) });
    }
  return listed;
};

/** Yields a warning for each quota that it cannot read, and assumes the default value for a new account. */
export async function* checkQuotas(
  config: Pick<AwsSettings, "region" | "logReadsPerMinute">,
  balancers: number,
  clients: ClientSource,
  environment: NodeJS.ProcessEnv,
): AsyncGenerator<Finding> {
  yield* roleQuota(clients);
  const listed = await listServices({ region: config.region, clients, environment });
  const quotas: Partial<Record<CeilingKind, ServiceQuota>> = {};
  for (const [kind, name] of namedKinds) {
    const list = listed.get(name.service) ?? [];
    const quota = "problem" in list ? undefined : quotaIn(list, name);
    const problem =
      "problem" in list ? list.problem : (quota?.ErrorReason?.ErrorMessage ?? "Service Quotas does not list it");
    if (quota?.Value === undefined) yield warn(`quota: ${ceilingRules[kind].quota}`, `not readable: ${problem}`);
    else quotas[kind] = quota;
  }
  for (const { what, words, raise } of ceilingsOf(quotas, { ...config, balancers }))
    yield pass(`limit: ${what}`, `${words}. To raise it: ${raise}`);
}
