/**
 * The parts of a project that the doctor checks, as a `GoogleAuth` that answers requests itself: enabled APIs, granted
 * permissions and existing resources.
 * https://docs.cloud.google.com/service-usage/docs/reference/rest/v1/services/batchGet
 * https://docs.cloud.google.com/service-usage/docs/reference/rest/v1beta1/services.consumerQuotaMetrics/list
 * https://docs.cloud.google.com/resource-manager/reference/rest/v3/projects/testIamPermissions
 */
import type { AuthClient, GoogleAuth } from "google-auth-library";
import { recordRest } from "./requests/recorder.ts";
import { PROJECT_NUMBER, REGION } from "./test-project.ts";

export interface FakeProject {
  readonly apis: Set<string>;
  readonly permissions: Set<string>;
  /** URLs of the existing resources. */
  readonly resources: Set<string>;
  /** Clean-up policies of the repository, by name: google/devtools/artifactregistry/v1/repository.proto. */
  readonly cleanupPolicies: Record<string, object>;
  /** Each resource's policy, by the URL that reads it. A policy without an entry cannot be read. */
  readonly policies: Map<string, object>;
  /** The buckets of volumes, as the API returns them. */
  readonly buckets: object[];
  /** Whether credentials are found, and whether they can sign. */
  credentials: boolean;
  signs: boolean;
  /** Hosts that respond with 403. */
  readonly forbidden: Set<string>;
  readonly requests: string[];
  /** Addresses of the existing service accounts. */
  serviceAccounts: readonly string[];
  /**
   * Quotas by metric and unit, such as `run.googleapis.com/write_regional 1/min/{project}/{region}`; -1 is unlimited.
   */
  readonly quotas: Map<string, number>;
  readonly auth: GoogleAuth<AuthClient>;
}

const failure = (code: number, message: string): Error => Object.assign(new Error(message), { code });

interface Request {
  readonly url: string;
  readonly data?: { readonly permissions?: readonly string[] };
}

/**
 * Service Usage names the project by its number, as in traffic that k8s-config-connector recorded:
 * `mockgcp/mockserviceusage/testdata/service/crud/_http.log`.
 */
const parent = `projects/${PROJECT_NUMBER}`;

/** The metrics of a service's quotas. A regional metric has a default and one bucket for each region. */
const quotaMetrics = (pathname: string, quotas: ReadonlyMap<string, number>): object => {
  const service = pathname.split("/").at(-2);
  const limitOf = (unit: string, quotaBuckets: readonly object[]) => ({ unit, quotaBuckets });
  const metrics = [...quotas].flatMap(([key, limit]) => {
    const [metric = "", unit = ""] = key.split(" ");
    if (!metric.startsWith(`${service}/`)) return [];
    // Google's JSON omits fields with the value 0.
    const bucket = limit === 0 ? {} : { effectiveLimit: String(limit) };
    const other = { effectiveLimit: "1" };
    const buckets = unit.includes("{region}")
      ? [other, { ...bucket, dimensions: { region: REGION } }, { ...other, dimensions: { region: "us-east1" } }]
      : [bucket];
    return [{ metric, consumerQuotaLimits: [limitOf(`${unit}/{user}`, [other]), limitOf(unit, buckets)] }];
  });
  return { metrics };
};

/** https://docs.cloud.google.com/iam/docs/reference/rest/v1/projects.serviceAccounts/list */
const accountsPage = (all: readonly string[], query: URLSearchParams): object => {
  const from = Number(query.get("pageToken") ?? 0);
  const to = Math.min(all.length, from + Number(query.get("pageSize")));
  const accounts = all.slice(from, to).map((email) => ({ email }));
  return to < all.length ? { accounts, nextPageToken: String(to) } : { accounts };
};

/** Google's JSON omits an empty map. */
const resourceAt = (pathname: string, cleanupPolicies: object): object =>
  /\/repositories\/[^/]+$/.test(pathname) && Object.keys(cleanupPolicies).length > 0 ? { cleanupPolicies } : {};

const record = ({ url, data }: Request): void => {
  const target = new URL(url);
  const verb = data === undefined ? "GET" : "POST";
  recordRest({ host: target.host, verb, url: target, body: data && JSON.stringify(data) });
};

export const fakeProject = (): FakeProject => {
  const [apis, permissions, resources, forbidden] = [0, 1, 2, 3].map(() => new Set<string>()) as [
    Set<string>,
    Set<string>,
    Set<string>,
    Set<string>,
  ];
  const requests: string[] = [];
  const cleanupPolicies: Record<string, object> = {};
  const buckets: object[] = [];
  const policies = new Map<string, object>();
  const quotas = new Map([["iam.googleapis.com/quota/service-account-count 1/{project}", 100]]);
  const serviceAccounts: readonly string[] = ["portside@p", "portside-build@p", "other@p"];
  const state = { credentials: true, signs: true, serviceAccounts };
  const storedAt = (url: string): unknown => {
    const { pathname } = new URL(url);
    if (pathname === "/storage/v1/b") return buckets.length === 0 ? {} : { items: buckets };
    if (resources.has(url)) return resourceAt(pathname, cleanupPolicies);
    throw failure(404, "not found");
  };
  const answer = ({ url, data }: Request): unknown => {
    const { host, pathname, searchParams } = new URL(url);
    requests.push(`${data === undefined ? "GET" : "POST"} ${host}${pathname}`);
    if (forbidden.has(host)) throw failure(403, "the caller does not have permission");
    if (pathname.endsWith("/services:batchGet"))
      return {
        services: searchParams
          .getAll("names")
          .map((name) => name.split("/").at(-1) ?? "")
          .map((api) => ({
            name: `${parent}/services/${api}`,
            parent,
            state: apis.has(api) ? "ENABLED" : "DISABLED",
          })),
      };
    if (pathname.endsWith(":testIamPermissions"))
      return { permissions: (data?.permissions ?? []).filter((one) => permissions.has(one)) };
    if (pathname.endsWith("/consumerQuotaMetrics")) return quotaMetrics(pathname, quotas);
    if (pathname.endsWith("/serviceAccounts")) return accountsPage(state.serviceAccounts, searchParams);
    if (/[:/](getIamPolicy|iam)$/.test(pathname)) {
      const policy = policies.get(url);
      if (policy === undefined) throw failure(403, "the caller may not read the policy");
      return policy;
    }
    return storedAt(url);
  };
  const auth = {
    getAccessToken: async () => {
      if (state.credentials) return "token";
      throw new Error("Could not load the default credentials.");
    },
    getCredentials: async () => ({ client_email: "platform@p.iam.gserviceaccount.com" }),
    sign: async () => {
      if (state.signs) return "signature";
      throw failure(403, "Permission 'iam.serviceAccounts.signBlob' denied");
    },
    request: async (request: Request) => {
      record(request);
      return { data: answer(request) };
    },
  } as unknown as GoogleAuth<AuthClient>;
  return Object.assign(state, {
    apis,
    permissions,
    resources,
    cleanupPolicies,
    buckets,
    policies,
    forbidden,
    quotas,
    requests,
    auth,
  });
};
