/** The doctor names exactly what a project lacks, with the command that fixes it. */
import { describe, expect, test } from "vitest";
import { ceilingRules } from "../../../adapters/gcp/ceilings.ts";
import type { ClientSource, GcpClients } from "../../../adapters/gcp/clients.ts";
import { clientSource, diagnoseGcp, gcpConfigOf } from "../../../adapters/gcp/index.ts";
import { apis, roles, sqlApi, sqlRoles } from "../../../adapters/gcp/requirements.ts";
import { UnusablePackage } from "../../../adapters/shared/runtime/optional-package.ts";
import { type Finding, refusalToStart } from "../../../core/domain/wire/check.ts";
import { type FakeProject, fakeProject } from "../../fakes/gcp/project.ts";

const basis = { project: "p", region: "europe-west1", dataDir: "/nowhere" };
const BUILDER = "https://iam.googleapis.com/v1/projects/p/serviceAccounts/portside-build@p.iam.gserviceaccount.com";
const IMAGES = "https://artifactregistry.googleapis.com/v1/projects/p/locations/europe-west1/repositories/portside";
const SOURCES = "https://storage.googleapis.com/storage/v1/b/p-portside-sources";

const ACCOUNTS = "iam.googleapis.com/quota/service-account-count 1/{project}";
const BUILDS = "serviceAccount:portside-build@p.iam.gserviceaccount.com";
const BUCKET_POLICY = `${SOURCES}/iam`;
const REPOSITORY_POLICY = `${IMAGES}:getIamPolicy`;
const granting = (role: string) => ({ bindings: [{ role, members: [BUILDS] }] });

const whole = (): FakeProject => {
  const project = fakeProject();
  for (const name of Object.keys(apis)) project.apis.add(name);
  for (const one of Object.values(roles).flat()) project.permissions.add(one);
  for (const url of [BUILDER, IMAGES, SOURCES]) project.resources.add(url);
  project.policies.set(BUCKET_POLICY, granting("roles/storage.admin"));
  project.policies.set(REPOSITORY_POLICY, granting("roles/artifactregistry.writer"));
  return project;
};

const look = async ({ auth }: FakeProject, more: object = {}): Promise<Finding[]> =>
  Array.fromAsync(diagnoseGcp(gcpConfigOf({ ...basis, ...more }), clientSource("p", { auth })));
/** A BigQuery whose dry runs list these tables. */
const bigQueryListing = (...tables: readonly string[]): GcpClients["bigquery"] => {
  const referencedTables = tables.map((table) => {
    const [projectId, datasetId, tableId] = table.split(".");
    return { projectId, datasetId, tableId };
  });
  const request = (_asked: object, callback: (error: null, body: object) => void) =>
    callback(null, { statistics: { query: { referencedTables } } });
  return { projectId: "p", request } as unknown as GcpClients["bigquery"];
};
const lookWith = async (bigquery: GcpClients["bigquery"], more: object): Promise<Finding[]> =>
  Array.fromAsync(diagnoseGcp(gcpConfigOf({ ...basis, ...more }), clientSource("p", { auth: whole().auth, bigquery })));
const missing = (findings: readonly Finding[]) => findings.filter(({ verdict }) => verdict !== "ok");

test("reports nothing missing in a complete project", async () => {
  const findings = await look(whole());
  expect(missing(findings)).toEqual([]);
  expect(refusalToStart(findings)).toBeUndefined();
  expect(findings).toHaveLength(
    1 + Object.keys(apis).length + Object.keys(roles).length + Object.keys(ceilingRules).length + 11,
  );
});

test.each(Object.keys(apis))(
  "reports only the API %s if it is disabled, with the command that enables it",
  async (name) => {
    const project = whole();
    project.apis.delete(name);
    expect(missing(await look(project))).toEqual([
      expect.objectContaining({
        what: `API ${name}`,
        verdict: "missing",
        fix: `gcloud services enable ${name} --project p`,
      }),
    ]);
  },
);

test.each(Object.entries(roles))(
  "without a permission of %s, reports the role and the permission",
  async (role, all) => {
    const project = whole();
    const last = all.at(-1) as string;
    project.permissions.delete(last);
    const [finding, ...more] = missing(await look(project));
    expect(more).toEqual([]);
    expect(finding).toMatchObject({
      what: role,
      words: `missing ${last}`,
      fix: `gcloud projects add-iam-policy-binding p --member serviceAccount:platform@p.iam.gserviceaccount.com --role ${role} --condition None`,
    });
  },
);

test.each([
  [BUILDER, "gcloud iam service-accounts create portside-build --project p"],
  [
    IMAGES,
    "gcloud artifacts repositories create portside --repository-format docker --location europe-west1 --project p",
  ],
  [
    SOURCES,
    "gcloud storage buckets create gs://p-portside-sources --location europe-west1 --uniform-bucket-level-access --project p",
  ],
])("%s is checked, and the finding contains the command that creates it", async (url, fix) => {
  const project = whole();
  project.resources.delete(url);
  expect(missing(await look(project))).toEqual([expect.objectContaining({ verdict: "missing", fix })]);
});

test.each([
  [BUCKET_POLICY, "gcloud storage buckets add-iam-policy-binding gs://p-portside-sources", "roles/storage.admin"],
  [
    REPOSITORY_POLICY,
    "gcloud artifacts repositories add-iam-policy-binding portside --location europe-west1",
    "roles/artifactregistry.writer",
  ],
])(
  "warns if the policy at %s lacks the build identity, with the command that grants the role",
  async (url, command, role) => {
    const project = whole();
    // A policy that was never set has no bindings: k8s-config-connector's recorded traffic,
    // pkg/test/resourcefixture/testdata/iam/iampartialpolicy/resources/artifactregistryrepository/_http.log.
    const others = [{ role, members: ["user:someuser@example.com"] }, { role: "roles/viewer" }];
    for (const policy of [{ bindings: others }, { etag: "ACAB" }]) {
      project.policies.set(url, policy);
      expect(missing(await look(project))).toEqual([
        expect.objectContaining({ verdict: "warning", fix: `${command} --member ${BUILDS} --role ${role}` }),
      ]);
    }
    project.policies.delete(url);
    expect(missing(await look(project))).toEqual([]);
  },
);

test("warns about buckets of volumes without CORS rules", async () => {
  const project = whole();
  const labels = { "portside-volume": "data", "portside-state": "live" };
  const rule = {
    maxAgeSeconds: 7200,
    origin: ["*"],
    method: ["GET", "HEAD", "POST", "PUT"],
    responseHeader: [
      ...["Content-Type", "If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "Range"],
      ...["ETag", "Content-Range"],
    ],
  };
  project.buckets.push({ name: "ps-one", labels, cors: [rule] });
  expect(missing(await look(project))).toEqual([]);
  const others = [
    { name: "ps-two", labels, cors: [{ ...rule, method: ["GET"] }] },
    { name: "ps-three", labels },
    { name: "ps-trash", labels: { ...labels, "portside-state": "deleting" } },
    { name: "ps-foreign" },
  ];
  project.buckets.push(...others);
  expect(missing(await look(project))).toEqual([
    {
      what: "web pages may use the URLs of volumes",
      verdict: "warning",
      words: "buckets without Portside's CORS rules: 2 of 3, such as ps-two",
      fix: "start the server, which sets the rules: portside serve --provider gcp",
    },
  ]);
});

const old = { action: "DELETE", condition: { tagState: "ANY", olderThan: "2592000s" } };
const keeping = (condition: object) => ({ action: "KEEP", condition });

test.each<[string, object]>([
  ["no other policy", {}],
  ["a policy that keeps a number of images", { newest: { action: "KEEP", mostRecentVersions: { keepCount: 10 } } }],
  ["a policy for other tags", { releases: keeping({ tagState: "TAGGED", tagPrefixes: ["keep-app", "v"] }) }],
  ["a policy for untagged images", { releases: keeping({ tagState: "UNTAGGED" }) }],
  ["a policy for new images", { releases: keeping({ tagPrefixes: ["keep-"], newerThan: "86400s" }) }],
  ["a policy for some packages", { releases: keeping({ tagPrefixes: ["keep-"], packageNamePrefixes: ["a"] }) }],
  ["a second policy that deletes", { other: { action: "DELETE", condition: { tagPrefixes: ["keep-"] } } }],
])(
  "warns if a policy deletes images and the repository has %s, with the command that sets policies",
  async (_, more) => {
    const project = whole();
    Object.assign(project.cleanupPolicies, { old, ...more });
    expect(missing(await look(project))).toEqual([
      expect.objectContaining({
        what: "clean-up policies of repository portside",
        verdict: "warning",
        words: expect.stringContaining("'keep-'"),
        fix: "gcloud artifacts repositories set-cleanup-policies portside --location europe-west1 --policy cleanup.json --no-dry-run --project p",
      }),
    ]);
  },
);

test.each<[string, Record<string, object>]>([
  ["the documented policies", { old, releases: keeping({ tagState: "TAGGED", tagPrefixes: ["keep-"] }) }],
  ["a policy that keeps tagged images", { old, releases: keeping({ tagState: "TAGGED" }) }],
  ["no policy that deletes images", { newest: { action: "KEEP", mostRecentVersions: { keepCount: 10 } } }],
])("does not warn about a repository with %s", async (_, policies) => {
  const project = whole();
  Object.assign(project.cleanupPolicies, policies);
  expect(missing(await look(project))).toEqual([]);
});

test("without permission to sign, reports signed URLs", async () => {
  const project = whole();
  project.signs = false;
  const [finding, ...more] = missing(await look(project));
  expect(more).toEqual([]);
  expect(finding).toMatchObject({
    what: "signed URLs",
    verdict: "missing",
    fix: expect.stringContaining("add-iam-policy-binding platform@p.iam.gserviceaccount.com"),
  });
});

test("checks the API and the roles of SQL if SQL is configured", async () => {
  const found = missing(await lookWith(bigQueryListing(), { logDataset: "p.logs" }));
  expect(found.map(({ what }) => what)).toEqual([`API ${sqlApi}`, ...Object.keys(sqlRoles)]);
});

test.each([
  ["itself", ["p.logs._AllLogs"], "BigQuery lists p.logs._AllLogs itself"],
  ["the tables behind it", ["t.b.one", "t.b.two"], "BigQuery lists t.b.one, t.b.two instead of p.logs._AllLogs"],
])("says that a dry run lists %s for the log view", async (_what, listed, words) => {
  const findings = await lookWith(bigQueryListing(...listed), { logDataset: "p.logs" });
  expect(findings).toContainEqual({ what: "SQL tables", verdict: "ok", words });
});

test("a log view that cannot be read is a warning", async () => {
  const request = (_asked: object, callback: (error: Error) => void) =>
    callback(Object.assign(new Error("Access Denied"), { code: 403 }));
  const bigquery = { projectId: "p", request } as unknown as GcpClients["bigquery"];
  expect(missing(await lookWith(bigquery, { logDataset: "p.logs" }))).toContainEqual(
    expect.objectContaining({ what: "SQL tables", words: expect.stringContaining("Access Denied (403)") }),
  );
});

test("without credentials, checks nothing further", async () => {
  const project = whole();
  project.credentials = false;
  const findings = await look(project);
  expect(findings).toEqual([expect.objectContaining({ what: "credentials", verdict: "missing" })]);
  expect(project.requests).toEqual([]);
  expect(refusalToStart(findings)).toContain(
    "gcloud auth application-default login --impersonate-service-account portside@",
  );
});

test("an almost exhausted quota is a warning, counted over all pages", async () => {
  const project = whole();
  project.serviceAccounts = Array.from({ length: 295 }, (_, index) => `account-${index}@p`);
  project.quotas.set(ACCOUNTS, 300);
  expect(missing(await look(project))).toEqual([
    expect.objectContaining({ verdict: "warning", words: "5 of 300 left; each account uses one" }),
  ]);
  project.serviceAccounts = project.serviceAccounts.slice(0, 100);
  expect(missing(await look(project))).toEqual([]);
});

const maximaOf = (findings: readonly Finding[]): Record<string, string> =>
  Object.fromEntries(
    findings.flatMap(({ what, words }) => (what.startsWith("limit: ") ? [[what.slice(7), words]] : [])),
  );

const BUILD_CPUS = "cloudbuild.googleapis.com/concurrent_public_pool_build_cpus 1/{project}/{region}";

test("warns if the project may not build in the region, or if that is unknown", async () => {
  const project = whole();
  const fix = expect.stringContaining("portside serve --gcp-build-region us-central1|");
  expect(missing(await look(project, { buildRegion: "europe-west3" }))).toEqual([
    expect.objectContaining({ what: "builds in europe-west3", verdict: "warning", fix }),
  ]);
  project.quotas.set(BUILD_CPUS, 0);
  expect(missing(await look(project))).toEqual([
    expect.objectContaining({ what: "builds in europe-west1", words: expect.stringContaining("is 0"), fix }),
  ]);
  project.quotas.set(BUILD_CPUS, 10);
  expect(missing(await look(project))).toEqual([]);
});

test("reports the ceilings of the project, by its quotas in the region", async () => {
  const project = whole();
  const digest = "0123456789abcdef01234";
  project.serviceAccounts = ["portside@p", "portside-build@p", `portside-${digest}@p`, "portside-demo@p"];
  project.quotas.set(ACCOUNTS, 200);
  project.quotas.set("run.googleapis.com/write_regional 1/min/{project}/{region}", 90);
  project.quotas.set("run.googleapis.com/cpu_allocation 1/{project}/{region}", 56_000);
  project.quotas.set("cloudbuild.googleapis.com/concurrent_public_pool_build_cpus 1/{project}/{region}", 9);
  project.quotas.set("cloudscheduler.googleapis.com/jobs 1/{project}/{region}", -1);
  expect(maximaOf(await look(project))).toMatchObject({
    accounts: "197 (service accounts: 200; each uses 1; those of other programs in the project also count)",
    "concurrent builds": "4 (build CPUs in the region: 9; each uses 2)",
    "concurrent instances with 1 CPU": expect.stringMatching(/^56 /),
    "deployments with a schedule": "no limit (Cloud Scheduler jobs in the region)",
    deployments: expect.stringContaining("1000, according to Google's documentation"),
    "followed logs, each by any number of clients": expect.stringContaining("60, assumed"),
  });
});

test("a check without permission is a warning and does not prevent the start", async () => {
  const project = whole();
  for (const host of ["serviceusage.googleapis.com", "cloudresourcemanager.googleapis.com", "iam.googleapis.com"])
    project.forbidden.add(host);
  const findings = missing(await look(project));
  expect(findings.map(({ what }) => what)).toEqual([
    "APIs",
    "permissions",
    expect.stringContaining("for builds"),
    "quotas",
    "service account quota",
  ]);
  expect(findings.every(({ verdict }) => verdict === "warning")).toBe(true);
  expect(refusalToStart(findings)).toBeUndefined();
});

test.each([
  ["123-compute@developer.gserviceaccount.com"],
  ["123@cloudbuild.gserviceaccount.com"],
  ["p@appspot.gserviceaccount.com"],
])("the default identity %s must not build", (buildIdentity) => {
  expect(() => gcpConfigOf({ ...basis, buildIdentity })).toThrow(
    "default identity, which has more rights than builds need",
  );
});

test("a package that is not installed is reported before any deploy, with the install command", async () => {
  const { auth } = whole();
  const there = clientSource("p", { auth });
  const without = (lost: string) =>
    ((name: Parameters<ClientSource>[0]) =>
      name === lost
        ? Promise.reject(new UnusablePackage("The provider gcp", ["@google-cloud/run"]))
        : there(name)) as ClientSource;
  const config = gcpConfigOf(basis);
  for (const lost of ["scheduler", "auth"]) {
    const findings = await Array.fromAsync(diagnoseGcp(config, without(lost)));
    expect(missing(findings)).toEqual([
      expect.objectContaining({ verdict: "missing", fix: "npm install @google-cloud/run@4" }),
    ]);
  }
  const findings = await Array.fromAsync(diagnoseGcp(config, without("bigquery")));
  expect(missing(findings)).toEqual([]);
});

test("user credentials cannot sign, so the fix is to impersonate the service account", async () => {
  const project = whole();
  project.signs = false;
  Object.assign(project.auth, { getCredentials: async () => ({}) });
  const [finding] = missing(await look(project));
  expect(finding?.fix).toBe(
    "gcloud auth application-default login --impersonate-service-account portside@p.iam.gserviceaccount.com",
  );
});

describe("on Cloud Run itself", () => {
  const environment = { K_SERVICE: "portside" };
  const PATH = "projects/p/locations/europe-west1/services/portside";
  /** @param own the platform's own service on Cloud Run; undefined if it does not exist */
  const lookFrom = async (own: object | undefined, more: object = {}) => {
    const services = {
      getService: async ({ name }: { name: string }) => {
        expect(name).toBe(PATH);
        if (own === undefined) throw Object.assign(new Error("Resource 'portside' was not found"), { code: 5 });
        return [own];
      },
    } as unknown as GcpClients["services"];
    const clients = clientSource("p", { auth: whole().auth, services });
    return Array.fromAsync(diagnoseGcp(gcpConfigOf({ ...basis, ...more }), clients, environment));
  };
  const container = (cpuIdle: boolean) => ({ containers: [{ resources: { cpuIdle } }] });
  const update = "gcloud run services update portside --region europe-west1";

  test("requires only CPU between requests and a minimum of instances", async () => {
    const findings = await lookFrom({ template: { ...container(false), scaling: { minInstanceCount: 1 } } });
    expect(missing(findings)).toEqual([]);
    expect(
      findings.find(({ words }) => words.includes("because Cloud Run's file system is in memory"))?.words,
    ).toContain("the bucket p-portside-sources");
    expect(missing(await lookFrom({ template: container(false), scaling: { minInstanceCount: 1 } }))).toEqual([]);
  });

  test.each([
    ["no CPU", { template: { ...container(true), scaling: { minInstanceCount: 1 } } }, "--no-cpu-throttling"],
    ["no resource settings", { template: {}, scaling: { minInstanceCount: 1 } }, "--no-cpu-throttling"],
    ["no minimum number of instances", { template: container(false) }, "--min-instances 1"],
    ["a service that cannot be read", undefined, "--no-cpu-throttling --min-instances 1"],
  ])("%s is a warning with the command that fixes it", async (_what, own, flags) => {
    expect(missing(await lookFrom(own))).toEqual([
      expect.objectContaining({ verdict: "warning", fix: `${update} ${flags}` }),
    ]);
  });

  test("sources on its disk are a warning", async () => {
    const own = { template: { ...container(false), scaling: { minInstanceCount: 1 } } };
    expect(missing(await lookFrom(own, { sourceSpool: "disk" }))).toEqual([
      expect.objectContaining({ verdict: "warning", fix: "portside serve --source-spool bucket" }),
    ]);
  });
});
