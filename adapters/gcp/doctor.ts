/** Checks the project's setup. A finding about a missing part contains the command that fixes it. */
import { randomUUID } from "node:crypto";
import { type Finding, fail, pass, warn } from "../../core/domain/wire/check.ts";
import { spoolLocation } from "../shared/archives/spool-location.ts";
import { UnusablePackage } from "../shared/runtime/optional-package.ts";
import { serviceAccountOf } from "./accounts/service-accounts.ts";
import { withTimeout } from "./call-policy.ts";
import { checkOwnService } from "./check-own-service.ts";
import { checkQuotas } from "./check-quotas.ts";
import type { ClientSource } from "./clients.ts";
import type { GcpConfig } from "./config.ts";
import { KEEP_PREFIX } from "./deploy/releases/kept-images.ts";
import { googleFault } from "./errors.ts";
import { apis, roles, sqlApi, sqlRoles } from "./requirements.ts";
import { type Get, problemOf, requester, SERVICE_USAGE } from "./rest-get.ts";
import { ownTables, sourcesOf, tablesBehind } from "./sql/tables-behind.ts";
import { checkCors } from "./volumes/check-cors.ts";

type DoctorConfig = Omit<GcpConfig, "settleSeconds" | "logReadsPerMinute" | "sqlBytesBilled" | "softDelete">;

const clientNames = ["auth", "services", "builds", "registry", "storage", "logging", "scheduler"] as const;

/**
 * Google's packages are optional and load at first use. This check finds a missing package before a deploy needs it.
 */
async function* packages({ logDataset }: DoctorConfig, clients: ClientSource): AsyncGenerator<Finding> {
  for (const name of logDataset === undefined ? clientNames : ([...clientNames, "bigquery"] as const))
    try {
      await clients(name);
    } catch (error) {
      if (!(error instanceof UnusablePackage)) throw error;
      yield fail(`package for ${name}`, error.message, error.fix);
    }
}

/** User credentials cannot sign URLs, so they must impersonate the platform's service account. */
const logIn = (project: string): string =>
  `gcloud auth application-default login --impersonate-service-account ${serviceAccountOf(project, "portside")}`;

/** https://docs.cloud.google.com/docs/authentication/application-default-credentials */
async function* credentials({ project }: DoctorConfig, clients: ClientSource): AsyncGenerator<Finding> {
  try {
    const auth = await clients("auth");
    await auth.getAccessToken();
    yield pass("credentials", "found");
  } catch (error) {
    yield fail("credentials", problemOf(error), logIn(project));
  }
}

const RESOURCE_MANAGER = "https://cloudresourcemanager.googleapis.com/v3";

/** https://docs.cloud.google.com/service-usage/docs/reference/rest/v1/services/batchGet */
async function* enabledApis({ project, logDataset }: DoctorConfig, get: Get): AsyncGenerator<Finding> {
  const wanted = { ...apis, ...(logDataset === undefined ? {} : { [sqlApi]: "running SQL queries" }) };
  const query = Object.keys(wanted)
    .map((name) => `names=projects/${project}/services/${name}`)
    .join("&");
  const url = `${SERVICE_USAGE}/v1/projects/${project}/services:batchGet?${query}`;
  const found = await get<{ services?: readonly { name: string; state: string }[] }>(url);
  if (found.isErr())
    return yield warn(
      "APIs",
      `the check failed: ${problemOf(found.error)}`,
      `gcloud services enable serviceusage.googleapis.com --project ${project}`,
    );
  const { services = [] } = found.value;
  const enabled = new Set(
    services.filter(({ state }) => state === "ENABLED").map(({ name }) => name.split("/").at(-1)),
  );
  for (const [name, purpose] of Object.entries(wanted))
    yield enabled.has(name)
      ? pass(`API ${name}`, "enabled")
      : fail(
          `API ${name}`,
          `not enabled, but required for ${purpose}`,
          `gcloud services enable ${name} --project ${project}`,
        );
}

/** https://docs.cloud.google.com/resource-manager/reference/rest/v3/projects/testIamPermissions */
async function* permissions({ project, logDataset }: DoctorConfig, get: Get, member: string): AsyncGenerator<Finding> {
  const wanted = logDataset === undefined ? roles : { ...roles, ...sqlRoles };
  const url = `${RESOURCE_MANAGER}/projects/${project}:testIamPermissions`;
  const tested = await get<{ permissions?: string[] }>(url, { permissions: Object.values(wanted).flat() });
  if (tested.isErr())
    return yield warn(
      "permissions",
      `the check failed: ${problemOf(tested.error)}`,
      `gcloud services enable cloudresourcemanager.googleapis.com --project ${project}`,
    );
  const granted = new Set(tested.value.permissions);
  for (const [role, needed] of Object.entries(wanted)) {
    const absent = needed.filter((one) => !granted.has(one));
    yield absent.length === 0
      ? pass(role, "all permissions granted")
      : fail(
          role,
          `missing ${absent.join(", ")}`,
          `gcloud projects add-iam-policy-binding ${project} --member ${member} --role ${role} --condition None`,
        );
  }
}

const repositoryUrl = ({ project, region, repository }: Pick<DoctorConfig, "project" | "region" | "repository">) =>
  `https://artifactregistry.googleapis.com/v1/projects/${project}/locations/${region}/repositories/${repository}`;

const resourcesOf = ({ project, region, buildIdentity, repository, stagingBucket }: DoctorConfig) => [
  {
    what: `service account ${buildIdentity}, for builds`,
    url: `https://iam.googleapis.com/v1/projects/${project}/serviceAccounts/${buildIdentity}`,
    fix: `gcloud iam service-accounts create ${buildIdentity.split("@")[0]} --project ${project}`,
  },
  {
    what: `Docker repository ${repository}`,
    url: repositoryUrl({ project, region, repository }),
    fix: `gcloud artifacts repositories create ${repository} --repository-format docker --location ${region} --project ${project}`,
  },
  {
    what: `bucket ${stagingBucket}, for sources`,
    url: `https://storage.googleapis.com/storage/v1/b/${stagingBucket}`,
    fix: `gcloud storage buckets create gs://${stagingBucket} --location ${region} --uniform-bucket-level-access --project ${project}`,
  },
];

async function* resources(config: DoctorConfig, get: Get): AsyncGenerator<Finding> {
  for (const { what, url, fix } of resourcesOf(config)) {
    const found = await get(url);
    const fault = found.isErr() ? googleFault(found.error) : undefined;
    if (found.isOk()) yield pass(what, "exists");
    else if (fault?.kind === "state" && fault.code === "not_found") yield fail(what, "does not exist", fix);
    else yield warn(what, `the check failed: ${problemOf(found.error)}`);
  }
}

interface CleanUpPolicy {
  readonly action?: string;
  readonly condition?: {
    readonly tagState?: string;
    readonly tagPrefixes?: readonly string[];
    readonly versionNamePrefixes?: readonly string[];
    readonly packageNamePrefixes?: readonly string[];
    readonly olderThan?: string;
    readonly newerThan?: string;
  };
}

/**
 * True if the policy keeps every image with a tag that begins with `keep-`. A policy applies only to images that match
 * all parts of its condition.
 */
const keepsReleases = ({ action, condition }: CleanUpPolicy): boolean => {
  if (action !== "KEEP" || condition === undefined) return false;
  const { tagState = "ANY", tagPrefixes = [], ...others } = condition;
  return (
    tagState !== "UNTAGGED" &&
    (tagPrefixes.length === 0 || tagPrefixes.some((prefix) => KEEP_PREFIX.startsWith(prefix))) &&
    Object.values(others).every((one) => one.length === 0)
  );
};

/** Skips an unreadable repository, which `resources` reports. */
async function* cleanUp(config: DoctorConfig, get: Get): AsyncGenerator<Finding> {
  const { project, region, repository } = config;
  const found = await get<{ cleanupPolicies?: Readonly<Record<string, CleanUpPolicy>> }>(repositoryUrl(config));
  if (found.isErr()) return;
  const policies = Object.values(found.value.cleanupPolicies ?? {});
  const what = `clean-up policies of repository ${repository}`;
  yield !policies.some(({ action }) => action === "DELETE") || policies.some(keepsReleases)
    ? pass(what, "keep the images of releases")
    : warn(
        what,
        `they delete images, but none keeps every image with a tag that begins with '${KEEP_PREFIX}', so rollbacks may fail; add the policy 'releases' of cleanup.json (docs/providers/gcp.md)`,
        `gcloud artifacts repositories set-cleanup-policies ${repository} --location ${region} --policy cleanup.json --no-dry-run --project ${project}`,
      );
}

interface Policy {
  readonly bindings?: readonly { readonly role: string; readonly members?: readonly string[] }[];
}

/**
 * Roles that the build identity needs on each resource. A resource's policy does not list roles that the project
 * grants. `command` grants `role`; any of the `broader` roles also suffices.
 */
const buildGrants = ({ project, region, repository, stagingBucket }: DoctorConfig) => [
  {
    what: `builds may read sources and write logs in bucket ${stagingBucket}`,
    url: `https://storage.googleapis.com/storage/v1/b/${stagingBucket}/iam`,
    role: "roles/storage.admin",
    broader: [],
    command: `gcloud storage buckets add-iam-policy-binding gs://${stagingBucket}`,
  },
  {
    what: `builds may push images to repository ${repository}`,
    url: `${repositoryUrl({ project, region, repository })}:getIamPolicy`,
    role: "roles/artifactregistry.writer",
    broader: ["roles/artifactregistry.repoAdmin", "roles/artifactregistry.admin"],
    command: `gcloud artifacts repositories add-iam-policy-binding ${repository} --location ${region}`,
  },
];

/** Skips unreadable policies: the platform's required roles do not permit reading the policy of the repository. */
async function* buildPermissions(config: DoctorConfig, get: Get): AsyncGenerator<Finding> {
  const member = `serviceAccount:${config.buildIdentity}`;
  for (const { what, url, role, broader, command } of buildGrants(config)) {
    const policy = await get<Policy>(url);
    if (policy.isErr()) continue;
    const { bindings = [] } = policy.value;
    const sufficient: readonly string[] = [role, ...broader];
    yield bindings.some((one) => sufficient.includes(one.role) && one.members?.includes(member))
      ? pass(what, "granted")
      : warn(
          what,
          `${config.buildIdentity} does not have ${role} on the resource; builds fail unless the project grants it`,
          `${command} --member ${member} --role ${role}`,
        );
  }
}

/** Placeholder that the operator replaces: user credentials do not reveal the platform's identity. */
const UNKNOWN = "MEMBER";

/** The platform's own identity, in the member syntax of IAM policies. */
const memberOf = async (clients: ClientSource): Promise<string> => {
  try {
    const { client_email: email } = await (await clients("auth")).getCredentials();
    return email === undefined ? UNKNOWN : `serviceAccount:${email}`;
  } catch {
    return UNKNOWN;
  }
};

/**
 * Signing a URL needs a key or IAM's signBlob:
 * https://docs.cloud.google.com/iam/docs/create-short-lived-credentials-direct
 */
async function* signing({ project }: DoctorConfig, clients: ClientSource, member: string): AsyncGenerator<Finding> {
  const what = "signed URLs";
  try {
    await (await clients("auth")).sign("portside doctor");
    yield pass(what, "work");
  } catch (error) {
    const email = member.replace(/^serviceAccount:/, "");
    yield fail(
      what,
      `signing failed, so clients cannot read or write objects: ${problemOf(error)}`,
      member === UNKNOWN
        ? logIn(project)
        : `gcloud iam service-accounts add-iam-policy-binding ${email} --member ${member} --role roles/iam.serviceAccountTokenCreator`,
    );
  }
}

/**
 * Reports the tables that a dry run lists for each of the platform's tables. The check of each SQL statement depends on
 * this list.
 */
async function* sqlTables(config: DoctorConfig, clients: ClientSource): AsyncGenerator<Finding> {
  if (config.logDataset === undefined) return;
  const what = "SQL tables";
  try {
    const client = await clients("bigquery");
    for (const table of ownTables(sourcesOf(config))) {
      const listed = await withTimeout(tablesBehind(client, table, config.sqlLocation, randomUUID()));
      const isItself = listed.length === 1 && listed[0] === table;
      yield pass(
        what,
        isItself ? `BigQuery lists ${table} itself` : `BigQuery lists ${listed.join(", ")} instead of ${table}`,
      );
    }
  } catch (error) {
    yield warn(what, `the check failed, so SQL may be unavailable: ${problemOf(error)}`);
  }
}

/**
 * Checks the project's setup. Yields each finding when its check ends. Stops early if the credentials or the package
 * that loads them are missing.
 */
export async function* diagnoseGcp(
  config: DoctorConfig,
  clients: ClientSource,
  environment: NodeJS.ProcessEnv = process.env,
): AsyncGenerator<Finding> {
  const absent = await Array.fromAsync(packages(config, clients));
  yield* absent;
  if (absent.some(({ what }) => what === "package for auth")) return;
  for await (const finding of credentials(config, clients)) {
    yield finding;
    if (finding.verdict === "missing") return;
  }
  const get = requester(clients);
  yield* enabledApis(config, get);
  const member = await memberOf(clients);
  yield* permissions(config, get, member);
  yield* signing(config, clients, member);
  yield* resources(config, get);
  yield await checkCors(config.project, get);
  yield* cleanUp(config, get);
  yield* buildPermissions(config, get);
  if (absent.length === 0) yield* sqlTables(config, clients);
  yield* checkQuotas(config, get);
  yield spoolLocation(config.sourceSpool, config.dataDir, config.stagingBucket, environment).finding;
  yield* checkOwnService(config, clients, environment);
}
