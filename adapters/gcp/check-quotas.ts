/**
 * Reads the project's quotas and reports how many deployments, accounts and other resources they permit.
 * https://docs.cloud.google.com/service-usage/docs/reference/rest/v1beta1/services.consumerQuotaMetrics/list
 */
import { type Finding, pass, warn } from "../../core/domain/wire/check.ts";
import { ok, safeTry } from "../../core/result.ts";
import { isRuntimeIdentity } from "./accounts/service-accounts.ts";
import { type CeilingKind, ceilingRules, ceilingsOf, type QuotaMetric, quotaOf, quotaServices } from "./ceilings.ts";
import type { GcpConfig } from "./config.ts";
import { type Get, problemOf, SERVICE_USAGE } from "./rest-get.ts";

const readAll = <T>(get: Get, url: string, itemsOf: (page: Record<string, unknown>) => readonly T[] | undefined) =>
  safeTry(async function* () {
    const all: T[] = [];
    for (let token = ""; ; ) {
      const query = `pageSize=100${token && `&pageToken=${encodeURIComponent(token)}`}`;
      const page = yield* get<Record<string, unknown>>(`${url}?${query}`);
      all.push(...(itemsOf(page) ?? []));
      token = String(page["nextPageToken"] ?? "");
      if (token === "") return ok(all);
    }
  });

const metricsOf = (get: Get, project: string, service: string) =>
  readAll<QuotaMetric>(
    get,
    `${SERVICE_USAGE}/v1beta1/projects/${project}/services/${service}/consumerQuotaMetrics`,
    ({ metrics }) => metrics as QuotaMetric[],
  );

/** https://docs.cloud.google.com/iam/docs/reference/rest/v1/projects.serviceAccounts/list */
const serviceAccountsOf = (get: Get, project: string) =>
  readAll<{ readonly email: string }>(
    get,
    `https://iam.googleapis.com/v1/projects/${project}/serviceAccounts`,
    ({ accounts }) => accounts as { email: string }[],
  );

/** The check warns if fewer service accounts than this are left. */
const MIN_LEFT = 10;

/** Each Portside account uses one service account. */
const leftAccounts = (project: string, limit: number, used: number): Finding => {
  const what = "service account quota";
  const words = `${limit - used} of ${limit} left; each account uses one`;
  return limit - used < MIN_LEFT
    ? warn(what, words, `https://console.cloud.google.com/iam-admin/quotas?project=${project}`)
    : pass(what, words);
};

/**
 * The regions where every project may build:
 * https://docs.cloud.google.com/build/docs/locations#restricted_regions_for_some_projects
 */
const OPEN_BUILD_REGIONS: readonly string[] = [
  ...["us-central1", "us-west2", "europe-west1", "asia-east1", "australia-southeast1", "southamerica-east1"],
];

/** @param cpus the quota of the region; undefined if unknown */
const buildRegionFinding = (region: string, cpus: number | undefined): Finding => {
  const what = `builds in ${region}`;
  const fix = `portside serve --gcp-build-region ${OPEN_BUILD_REGIONS.join("|")}`;
  if (cpus === 0) return warn(what, "the project's quota for builds in this region is 0, so builds fail", fix);
  if (cpus === undefined && !OPEN_BUILD_REGIONS.includes(region))
    return warn(
      what,
      "Google lets some projects build only in a few regions; the quota of this region is unknown",
      fix,
    );
  return pass(what, cpus === undefined ? "possible in every project" : `CPU quota: ${cpus}`);
};

type QuotaConfig = Pick<GcpConfig, "project" | "region" | "buildRegion">;

export async function* checkQuotas({ project, region, buildRegion }: QuotaConfig, get: Get): AsyncGenerator<Finding> {
  const [accounts, ...services] = await Promise.all([
    serviceAccountsOf(get, project),
    ...quotaServices.map((service) => metricsOf(get, project, service)),
  ]);
  const failed = services.find((one) => one.isErr());
  if (failed?.isErr()) yield warn("quotas", `the check failed: ${problemOf(failed.error)}`);
  const metrics = services.flatMap((one) => one.unwrapOr([]));
  const quotas: Partial<Record<CeilingKind, number>> = {};
  for (const [kind, rule] of Object.entries(ceilingRules)) {
    const limit = "name" in rule ? quotaOf(metrics, rule.name, kind === "builds" ? buildRegion : region) : undefined;
    if (limit !== undefined) quotas[kind as CeilingKind] = limit;
  }
  yield buildRegionFinding(buildRegion, quotas.builds);
  if (accounts.isErr()) yield warn("service account quota", `the check failed: ${problemOf(accounts.error)}`);
  else if (quotas.accounts !== undefined) yield leftAccounts(project, quotas.accounts, accounts.value.length);
  const others = accounts.unwrapOr([]).filter(({ email }) => !isRuntimeIdentity(email)).length;
  for (const { kind, words } of ceilingsOf(quotas, others)) yield pass(`limit: ${ceilingRules[kind].what}`, words);
}
