/**
 * The control plane: one method per endpoint, on top of the ports.
 *
 * ```ts
 * const provider = createMemoryProvider();
 * const controlPlane = createControlPlane(provider.ports);
 * const principal = { account, credentialId: "test" };
 * const deployments = await controlPlane.listDeployments(principal);
 * ```
 */
import type { z } from "zod";
import type { Principal } from "./domain/accounts/account.ts";
import { type AccountUsage, quotasOf } from "./domain/accounts/quotas.ts";
import type { SessionList } from "./domain/accounts/session.ts";
import type { DeployList } from "./domain/deploy/deploy-list.ts";
import type { Deployment } from "./domain/deploy/deployment.ts";
import type { DeploymentDetails } from "./domain/deploy/deployment-details.ts";
import type { DeployEvent } from "./domain/deploy/events.ts";
import type { ReleaseDiff } from "./domain/deploy/releases/diff.ts";
import type { DomainRow } from "./domain/domains/domain.ts";
import type { LogPage } from "./domain/logs/entry.ts";
import type { LogValues } from "./domain/logs/field-values.ts";
import type { LogHistogram } from "./domain/logs/histogram.ts";
import type { SecretRow, SetSecretResponse } from "./domain/secrets/secret.ts";
import type { SqlResponse } from "./domain/sql/answer.ts";
import type { SqlSchema } from "./domain/sql/tables.ts";
import type { CostReport } from "./domain/usage/cost.ts";
import type { Metrics } from "./domain/usage/metrics.ts";
import type { Subscription } from "./domain/usage/subscription.ts";
import type {
  DownloadGrant,
  MultipartGrant,
  ObjectPage,
  TrashedVolume,
  UploadGrant,
  Volume,
} from "./domain/volumes/volume.ts";
import { withFormerNames } from "./domain/wire/capabilities.ts";
import type { RequestFields } from "./domain/wire/fields.ts";
import type * as requests from "./domain/wire/requests.ts";
import type { capabilitiesResponseSchema } from "./domain/wire/responses.ts";
import type { ControlPlaneError, RateLimited } from "./errors.ts";
import { CONTRACT_VERSION, type Ports } from "./ports/provider.ts";
import type { ReceivedSource } from "./ports/source-spool.ts";
import type { CallOptions } from "./ports/system.ts";
import { okAsync, type Result, ResultAsync } from "./result.ts";
import { getAccountUsage } from "./use-cases/accounts/account-usage.ts";
import * as credentials from "./use-cases/accounts/credentials.ts";
import * as sessions from "./use-cases/accounts/sessions.ts";
import { cancelDeploy, deploy, followDeploy, resumeDeploy } from "./use-cases/deploy/deploy.ts";
import { checkName, deleteDeployment, listDeployments, type NameCheck } from "./use-cases/deploy/deployments.ts";
import { getDeployment } from "./use-cases/deploy/get-deployment.ts";
import { listDeploys } from "./use-cases/deploy/list-deploys.ts";
import { type DeployFields, type DeployRequest, type PlanResponse, plan } from "./use-cases/deploy/plan.ts";
import { receiveSource } from "./use-cases/deploy/receive-source.ts";
import { compareReleases, listReleases, type ReleasePage } from "./use-cases/deploy/releases/releases.ts";
import { restartDeployment, setEnvironment } from "./use-cases/deploy/releases/restart.ts";
import { planRollback, type RollbackPlanResponse, rollback } from "./use-cases/deploy/releases/rollback.ts";
import type { DeployRun } from "./use-cases/deploy/running-deploy.ts";
import * as domains from "./use-cases/domains/domains.ts";
import { type KeepOptions, keepCertificates } from "./use-cases/domains/keep-certificates.ts";
import { type FollowRequest, followLogs } from "./use-cases/logs/follow-logs.ts";
import { getLogHistogram, listLogValues } from "./use-cases/logs/log-statistics.ts";
import { readLogs } from "./use-cases/logs/read-logs.ts";
import { type Context, createContext, type Settings, type SettingsInput } from "./use-cases/pipeline/context.ts";
import { bindUseCase, type RequestOptions } from "./use-cases/pipeline/use-case.ts";
import { fireSchedule, type RequestedFire } from "./use-cases/schedules/fire-schedule.ts";
import { resumeRedeploys } from "./use-cases/secrets/resume-redeploys.ts";
import * as secrets from "./use-cases/secrets/secrets.ts";
import { getSqlSchema } from "./use-cases/sql/get-sql-schema.ts";
import { runSql } from "./use-cases/sql/run-sql.ts";
import { getCost } from "./use-cases/usage/cost.ts";
import { getMetrics } from "./use-cases/usage/metrics.ts";
import { getSubscription } from "./use-cases/usage/subscription.ts";
import * as objects from "./use-cases/volumes/objects.ts";
import * as volumes from "./use-cases/volumes/volumes.ts";

type Outcome<T> = ResultAsync<T, ControlPlaneError>;

/** The provider's features and the quotas of an account. */
export type CapabilitiesResponse = z.output<typeof capabilitiesResponseSchema>;

/**
 * The operations of a control plane: one method per endpoint, and methods for hosts, such as `check` and `close`.
 *
 * Methods that take a principal do not throw. Their result reports expected failures and bugs as errors. A request
 * contains the fields of the endpoint under their wire names, as JSON values. If a request has several issues, the
 * error lists all of them.
 */
export interface ControlPlane {
  readonly settings: Settings;
  /** Whether users can sign in to the console with a link or a key. */
  readonly hasSessions: boolean;
  /** Returns the provider's features and the quotas of an account. */
  capabilities(): CapabilitiesResponse;
  /** Fails with `unavailable` if a backing service does not respond. */
  check(options?: CallOptions): Outcome<void>;
  /**
   * Returns the origins of signed storage URLs, as host sources of a Content-Security-Policy. Empty if pages cannot use
   * the URLs.
   */
  storageOrigins(options?: CallOptions): Outcome<readonly string[]>;
  /** Returns the account and the credential of a request. */
  authenticate(headers: credentials.CredentialHeaders, options?: CallOptions): Outcome<Principal>;
  /** Counts a request against the account's rate limit. Fails with `rate_limited` if the account exceeds the limit. */
  countRequest(principal: Principal): Result<void, RateLimited>;

  /** Checks whether the account may deploy under a name. */
  checkName(
    principal: Principal,
    request: RequestFields<typeof requests.checkNameFields>,
    options?: CallOptions,
  ): Outcome<NameCheck>;
  /** Receives and validates a source. The caller must pass the result to `deploy` or discard the source. */
  receiveSource(principal: Principal, bytes: AsyncIterable<Uint8Array>, options?: CallOptions): Outcome<ReceivedSource>;
  /** Returns the changes that a deploy would make. */
  plan(principal: Principal, request: DeployRequest, options?: CallOptions): Outcome<PlanResponse>;
  /** Starts a deploy. The deploy continues if its client disconnects. */
  deploy(principal: Principal, request: DeployRequest, options?: CallOptions): Outcome<DeployRun>;
  /**
   * Returns a deploy of this process that is running or ended recently. `after` is the `seq` of the last record that
   * the client has.
   */
  resumeDeploy(
    principal: Principal,
    request: RequestFields<typeof requests.resumeFields>,
    options?: CallOptions,
  ): Outcome<{ run: DeployRun; after: number }>;
  /**
   * Yields the records of a deploy of this process until the deploy ends or the signal aborts. An error, such as
   * `not_found`, is the last item.
   */
  followDeploy(
    principal: Principal,
    request: RequestFields<typeof requests.resumeFields>,
    options?: CallOptions,
  ): AsyncIterable<Result<DeployEvent, ControlPlaneError>>;
  /**
   * Cancels a deploy, which then ends with the reason `interrupted`. Fails with `conflict` if the deploy ends in a
   * different way, for example because traffic has already moved.
   */
  cancelDeploy(
    principal: Principal,
    request: RequestFields<typeof requests.cancelFields>,
    options?: CallOptions,
  ): Outcome<{ detail: string }>;
  /** Lists the recent deploys of the account or of one deployment, newest first. */
  listDeploys(
    principal: Principal,
    request: RequestFields<typeof requests.listDeploysFields>,
    options?: CallOptions,
  ): Outcome<DeployList>;
  /** Lists the account's deployments, sorted by name. */
  listDeployments(principal: Principal, options?: CallOptions): Outcome<readonly Deployment[]>;
  /** Returns a deployment with its instances, its last deploy and its schedule. */
  getDeployment(
    principal: Principal,
    request: RequestFields<typeof requests.getDeploymentFields>,
    options?: CallOptions,
  ): Outcome<DeploymentDetails>;
  /** Returns a page of a deployment's releases, newest first. */
  listReleases(
    principal: Principal,
    request: RequestFields<typeof requests.releasesFields>,
    options?: CallOptions,
  ): Outcome<ReleasePage>;
  /** Compares two releases of a deployment. */
  compareReleases(
    principal: Principal,
    request: RequestFields<typeof requests.releaseDiffFields>,
    options?: CallOptions,
  ): Outcome<ReleaseDiff>;
  /** Returns the changes that a rollback would make. */
  planRollback(
    principal: Principal,
    request: RequestFields<typeof requests.rollbackPlanFields>,
    options?: CallOptions,
  ): Outcome<RollbackPlanResponse>;
  /**
   * Starts a rollback: a rollout of an earlier release, without a build. The rollback continues if its client
   * disconnects. A deploy that is building ends with the reason `superseded`.
   */
  rollback(
    principal: Principal,
    request: RequestFields<typeof requests.rollbackFields>,
    options?: CallOptions,
  ): Outcome<DeployRun>;
  /** Starts a redeploy of the release that serves, which replaces all instances. */
  restartDeployment(
    principal: Principal,
    request: RequestFields<typeof requests.restartFields>,
    options?: CallOptions,
  ): Outcome<DeployRun>;
  /** Sets and removes variables, and starts a redeploy with them. */
  setEnvironment(
    principal: Principal,
    request: RequestFields<typeof requests.setEnvironmentFields>,
    options?: CallOptions,
  ): Outcome<DeployRun>;
  /** Runs a deployment's schedule now. Does not wait for the outcome. */
  fireSchedule(
    principal: Principal,
    request: RequestFields<typeof requests.fireFields>,
    options?: CallOptions,
  ): Outcome<RequestedFire>;
  /** Deletes a deployment and ends its running deploys. Its volumes and logs remain. */
  deleteDeployment(
    principal: Principal,
    request: RequestFields<typeof requests.deleteFields>,
    options?: CallOptions,
  ): Outcome<{ detail: string }>;
  /**
   * Returns a page of a deployment's log. If the request has `wait` and no entry matches, waits for a matching entry.
   * The wait ends early if the signal aborts, or after `endWaits`. Fails if `reauthenticate` fails after the wait.
   */
  readLogs(
    principal: Principal,
    request: RequestFields<typeof requests.logsFields>,
    options?: RequestOptions,
  ): Outcome<LogPage>;
  /**
   * Yields the entries of a log as they arrive, each once, until the signal aborts. Retries while the log is
   * unavailable. Any other error is the last item. Without `since`, begins with the newest entries.
   */
  followLogs(
    principal: Principal,
    request: FollowRequest,
    options?: CallOptions,
  ): AsyncIterable<Result<LogPage["logs"][number], ControlPlaneError>>;
  /** Counts the entries of a deployment's log over time, by severity. */
  getLogHistogram(
    principal: Principal,
    request: RequestFields<typeof requests.logHistogramFields>,
    options?: CallOptions,
  ): Outcome<LogHistogram>;
  /** Lists the fields of a deployment's log entries, with their values. */
  listLogValues(
    principal: Principal,
    request: RequestFields<typeof requests.logValuesFields>,
    options?: CallOptions,
  ): Outcome<LogValues>;

  /** Runs a SELECT statement on the account's `logs` and `billing` tables. */
  runSql(
    principal: Principal,
    request: RequestFields<typeof requests.sqlFields>,
    options?: CallOptions,
  ): Outcome<SqlResponse>;
  /** Returns the tables that `runSql` can read, with their columns. */
  getSqlSchema(principal: Principal, options?: CallOptions): Outcome<SqlSchema>;

  /** Creates a volume, or returns the existing one. */
  createVolume(
    principal: Principal,
    request: RequestFields<typeof requests.createVolumeFields>,
    options?: CallOptions,
  ): Outcome<volumes.CreatedVolume>;
  /** Lists the account's volumes with the deployments that mount them, sorted by volume name. */
  listVolumes(principal: Principal, options?: CallOptions): Outcome<readonly Volume[]>;
  /** Moves a volume to the trash. Fails with `conflict` if a deployment mounts the volume. */
  deleteVolume(
    principal: Principal,
    request: RequestFields<typeof requests.deleteVolumeFields>,
    options?: CallOptions,
  ): Outcome<{ detail: string }>;
  /** Lists the volumes that the account can restore, most recently deleted first. */
  listTrash(principal: Principal, options?: CallOptions): Outcome<readonly TrashedVolume[]>;
  /** Restores a volume from the trash. */
  restoreVolume(
    principal: Principal,
    request: RequestFields<typeof requests.restoreVolumeFields>,
    options?: CallOptions,
  ): Outcome<Volume>;
  /** Returns a page of a volume's objects. */
  listObjects(
    principal: Principal,
    request: RequestFields<typeof requests.objectsFields>,
    options?: CallOptions,
  ): Outcome<ObjectPage>;
  /** Deletes an object of a volume. */
  deleteObject(
    principal: Principal,
    request: RequestFields<typeof requests.objectFields>,
    options?: CallOptions,
  ): Outcome<{ detail: string }>;
  /** Returns a signed URL for the upload of an object, or one URL per part for a large or resumable upload. */
  grantUpload(
    principal: Principal,
    request: RequestFields<typeof requests.uploadFields>,
    options?: CallOptions,
  ): Outcome<UploadGrant>;
  /** Returns new URLs for an upload in parts, and the parts that the storage has. */
  resumeUpload(
    principal: Principal,
    request: RequestFields<typeof requests.resumeUploadFields>,
    options?: CallOptions,
  ): Outcome<MultipartGrant>;
  /** Returns a signed URL for the download of an object. */
  grantDownload(
    principal: Principal,
    request: RequestFields<typeof requests.objectFields>,
    options?: CallOptions,
  ): Outcome<DownloadGrant>;

  /**
   * Stores a value as the newest version of a secret, and by default redeploys the deployments that follow the secret.
   * No method returns the value.
   */
  setSecret(
    principal: Principal,
    request: RequestFields<typeof requests.setSecretFields>,
    options?: CallOptions,
  ): Outcome<SetSecretResponse>;
  /** Lists the account's secrets with the deployments that use them, sorted by name. */
  listSecrets(principal: Principal, options?: CallOptions): Outcome<readonly SecretRow[]>;
  /** Deletes a secret or one of its versions. Fails with `conflict` if a deployment uses the secret or the version. */
  deleteSecret(
    principal: Principal,
    request: RequestFields<typeof requests.deleteSecretFields>,
    options?: CallOptions,
  ): Outcome<{ detail: string }>;

  /**
   * Adds a domain to a deployment. If the account already has the domain, moves it to this deployment. Fails with
   * `conflict` if the domain belongs to another account. The domain serves requests after a check succeeds.
   */
  addDomain(
    principal: Principal,
    request: RequestFields<typeof requests.addDomainFields>,
    options?: CallOptions,
  ): Outcome<DomainRow>;
  /** Lists the account's domains with the DNS records that they need, sorted by domain. */
  listDomains(principal: Principal, options?: CallOptions): Outcome<readonly DomainRow[]>;
  /** Compares the DNS records of a domain with the expected records, and updates the domain's status. */
  checkDomain(
    principal: Principal,
    request: RequestFields<typeof requests.domainFields>,
    options?: CallOptions,
  ): Outcome<DomainRow>;
  /** Removes a domain. Requests for the domain then no longer reach the deployment. */
  removeDomain(
    principal: Principal,
    request: RequestFields<typeof requests.domainFields>,
    options?: CallOptions,
  ): Outcome<{ detail: string }>;

  /** Creates an API key. No later call returns the key's secret. */
  createKey(
    principal: Principal,
    request: RequestFields<typeof requests.createKeyFields>,
    options?: CallOptions,
  ): Outcome<credentials.NewKey>;
  /** Lists the keys of the account, oldest first. */
  listKeys(principal: Principal, options?: CallOptions): Outcome<readonly credentials.ListedKey[]>;
  /** Revokes a key. Tokens that were issued with the key become invalid within 10 seconds. */
  revokeKey(
    principal: Principal,
    request: RequestFields<typeof requests.revokeKeyFields>,
    options?: CallOptions,
  ): Outcome<{ detail: string }>;
  /** Issues a short-lived bearer token. */
  issueToken(principal: Principal, options?: CallOptions): Outcome<credentials.Token>;
  /**
   * Creates a link that signs in to the console once. Fails with `forbidden` for a user of the embedding application
   * and for a session.
   */
  createConsoleLink(principal: Principal, options?: CallOptions): Outcome<sessions.ConsoleLink>;
  /**
   * Starts a session of the console for the holder of a link or a key, and ends the browser's previous session.
   *
   * @param address the network address of the client, for the rate limit
   */
  signIn(
    request: RequestFields<typeof requests.signInFields>,
    address: string,
    options?: sessions.SignInOptions,
  ): Outcome<sessions.SignedIn>;
  /** Ends the session that authenticated the request. */
  signOut(principal: Principal, options?: CallOptions): Outcome<{ detail: string }>;
  /** Lists the account's sessions of the console, oldest first. */
  listSessions(principal: Principal, options?: CallOptions): Outcome<SessionList>;
  /** Ends a session of the console. */
  revokeSession(
    principal: Principal,
    request: RequestFields<typeof requests.revokeSessionFields>,
    options?: CallOptions,
  ): Outcome<{ detail: string }>;
  /**
   * Resolves at most 8 seconds after the session of a request has ended, or when the signal aborts. A host calls this
   * method for each open response.
   */
  whenSignedOut(principal: Principal, options: Required<CallOptions>): Promise<void>;

  /** Returns the account's quotas, and how much of each is in use. */
  getAccountUsage(principal: Principal, options?: CallOptions): Outcome<AccountUsage>;
  /** Returns the account's costs for models and infrastructure in a period. */
  getCost(
    principal: Principal,
    request: RequestFields<typeof requests.costFields>,
    options?: CallOptions,
  ): Outcome<CostReport>;
  /** Returns time series of the account's deployments: requests, latency, instances, CPU, memory and cold starts. */
  getMetrics(
    principal: Principal,
    request: RequestFields<typeof requests.metricsFields>,
    options?: CallOptions,
  ): Outcome<Metrics>;
  /** Returns the account's subscription. */
  getSubscription(principal: Principal, options?: CallOptions): Outcome<Subscription>;

  /**
   * Starts the redeploys for changed secrets that an earlier process did not finish, and returns their number. A host
   * calls this method at startup, once no earlier process runs on the same platform. If the redeploys of an account
   * cannot be started, starts those of the other accounts, and then fails. The host may then call it again.
   */
  resumeRedeploys(options?: CallOptions): Outcome<number>;
  /**
   * Orders and renews certificates until the signal aborts. A host calls this method at startup. Only one process per
   * platform may run it at a time. Resolves immediately if Portside does not order the provider's certificates.
   */
  keepCertificates(options: KeepOptions): Promise<void>;
  /** Ends the requests that wait for a log entry. Later requests do not wait. */
  endWaits(): void;
  /** Resolves when no deploy is running in this process. */
  settle(): Promise<void>;
  /**
   * Ends all deploys of this process. A deploy whose traffic has not moved fails with the reason `interrupted`.
   * Also calls `endWaits`. Resolves when all deploys have ended.
   */
  close(): Promise<void>;
}

const capabilitiesResponse = ({ ports, settings }: Context): CapabilitiesResponse => ({
  ...withFormerNames(ports.provider.capabilities),
  limits: quotasOf(settings.accountLimits),
});

/**
 * Creates a control plane on the ports. Throws a TypeError if the provider implements a different version of the ports,
 * or if `envAliases` is invalid.
 */
export const createControlPlane = (ports: Ports, input: SettingsInput = {}): ControlPlane => {
  const { contractVersion } = ports.provider;
  if (contractVersion !== CONTRACT_VERSION)
    throw new TypeError(
      `The provider implements version ${contractVersion} of Portside's ports, but this Portside requires version ${CONTRACT_VERSION}. Install matching versions.`,
    );
  const context = createContext(ports, input);
  const capabilities = capabilitiesResponse(context);
  const bind = bindUseCase(context);
  const boundResume = bind(resumeDeploy);
  const boundRead = bind(readLogs);
  return Object.freeze<ControlPlane>({
    settings: context.settings,
    hasSessions: ports.identity.sessions !== undefined,
    capabilities: () => capabilities,
    check: (options) => ports.provider.check(options),
    storageOrigins: (options) => ports.provider.volumes.grantOrigins?.(options) ?? okAsync([]),
    authenticate: (headers, options) => credentials.authenticate(context, headers, options),
    countRequest: ({ account }) => context.requests.count(account),
    checkName: bind(checkName),
    receiveSource: bind(receiveSource),
    plan: bind(plan),
    deploy: bind(deploy),
    resumeDeploy: boundResume,
    followDeploy: (principal, request, options = {}) =>
      followDeploy((now) => boundResume(principal, request, now), options),
    cancelDeploy: bind(cancelDeploy),
    listDeploys: bind(listDeploys),
    listDeployments: bind(listDeployments),
    getDeployment: bind(getDeployment),
    listReleases: bind(listReleases),
    compareReleases: bind(compareReleases),
    planRollback: bind(planRollback),
    rollback: bind(rollback),
    restartDeployment: bind(restartDeployment),
    setEnvironment: bind(setEnvironment),
    fireSchedule: bind(fireSchedule),
    deleteDeployment: bind(deleteDeployment),
    readLogs: boundRead,
    followLogs: (principal, request, options) =>
      followLogs(ports.clock, (page, now) => boundRead(principal, page, now), request, options),
    getLogHistogram: bind(getLogHistogram),
    listLogValues: bind(listLogValues),
    runSql: bind(runSql),
    getSqlSchema: bind(getSqlSchema),
    createVolume: bind(volumes.createVolume),
    listVolumes: bind(volumes.listVolumes),
    deleteVolume: bind(volumes.deleteVolume),
    listTrash: bind(volumes.listTrash),
    restoreVolume: bind(volumes.restoreVolume),
    listObjects: bind(objects.listObjects),
    deleteObject: bind(objects.deleteObject),
    grantUpload: bind(objects.grantUpload),
    resumeUpload: bind(objects.resumeUpload),
    grantDownload: bind(objects.grantDownload),
    setSecret: bind(secrets.setSecret),
    listSecrets: bind(secrets.listSecrets),
    deleteSecret: bind(secrets.deleteSecret),
    addDomain: bind(domains.addDomain),
    listDomains: bind(domains.listDomains),
    checkDomain: bind(domains.checkDomain),
    removeDomain: bind(domains.removeDomain),
    createKey: bind(credentials.createKey),
    listKeys: bind(credentials.listKeys),
    revokeKey: bind(credentials.revokeKey),
    issueToken: bind(credentials.issueToken),
    createConsoleLink: bind(sessions.createConsoleLink),
    signIn: (request, address, options) => sessions.signIn(context, request, address, options),
    signOut: bind(sessions.signOut),
    listSessions: bind(sessions.listSessions),
    revokeSession: bind(sessions.revokeSession),
    whenSignedOut: (principal, options) => sessions.whenSignedOut(context, principal, options),
    getAccountUsage: bind(getAccountUsage),
    getCost: bind(getCost),
    getMetrics: bind(getMetrics),
    getSubscription: bind(getSubscription),
    resumeRedeploys: (options) => new ResultAsync(resumeRedeploys(context, options)),
    keepCertificates: (options) => keepCertificates(context, options),
    endWaits: () => context.heldReads.close(),
    settle: () => context.deploys.settle(),
    close: () => {
      context.heldReads.close();
      return context.deploys.endAll("interrupted");
    },
  });
};

export type { ConsoleLink, SignedIn } from "./use-cases/accounts/sessions.ts";
export type {
  DeployFields,
  DeployRequest,
  DeployRun,
  PlanResponse,
  ReceivedSource,
  ReleasePage,
  RequestOptions,
  RollbackPlanResponse,
};
