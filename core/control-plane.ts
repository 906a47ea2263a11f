/**
 * The control plane: one method an endpoint, over whatever ports it is given.
 *
 * ```ts
 * const provider = createMemoryProvider();
 * const controlPlane = createControlPlane(provider.ports);
 * const principal = { account, credentialId: "test" };
 * const deployments = await controlPlane.listDeployments(principal);
 * ```
 */
import type { z } from "zod";
import { isAccount, type Principal } from "./domain/accounts/account.ts";
import { type Bucket, takeToken } from "./domain/accounts/rate-limit.ts";
import type { Deployment } from "./domain/deploy/deployment.ts";
import type { LogPage } from "./domain/logs/entry.ts";
import type { SqlAnswer } from "./domain/sql/answer.ts";
import type { Subscription } from "./domain/usage/subscription.ts";
import type { DownloadGrant, ObjectPage, TrashedVolume, UploadGrant, Volume } from "./domain/volumes/volume.ts";
import { withFormerNames } from "./domain/wire/capabilities.ts";
import type { capabilitiesResponseSchema } from "./domain/wire/responses.ts";
import { type ControlPlaneError, internal, type RateLimited, rateLimited } from "./errors.ts";
import { CONTRACT_VERSION, type Ports } from "./ports/provider.ts";
import type { ReceivedSource } from "./ports/source-spool.ts";
import type { CallOptions } from "./ports/system.ts";
import { err, ok, type Result, type ResultAsync } from "./result.ts";
import * as credentials from "./use-cases/accounts/credentials.ts";
import { cancelDeploy, type PlanResponse, plan, resumeDeploy } from "./use-cases/deploy/control.ts";
import { deploy } from "./use-cases/deploy/deploy.ts";
import { checkName, deleteDeployment, listDeployments, type NameCheck } from "./use-cases/deploy/deployments.ts";
import type { DeployRequest } from "./use-cases/deploy/plan.ts";
import { receiveSource } from "./use-cases/deploy/receive-source.ts";
import type { DeployRun } from "./use-cases/deploy/running-deploy.ts";
import { readLogs } from "./use-cases/logs/read-logs.ts";
import { catchBugs } from "./use-cases/pipeline/catch-bugs.ts";
import { type Context, createContext, type Settings, type SettingsInput } from "./use-cases/pipeline/context.ts";
import type { Raw } from "./use-cases/pipeline/raw.ts";
import { runSql } from "./use-cases/sql/run-sql.ts";
import { getSubscription } from "./use-cases/usage/subscription.ts";
import * as objects from "./use-cases/volumes/objects.ts";
import * as volumes from "./use-cases/volumes/volumes.ts";

type Answer<T> = ResultAsync<T, ControlPlaneError>;
export type CapabilitiesResponse = z.output<typeof capabilitiesResponseSchema>;

export interface ControlPlane {
  readonly settings: Settings;
  /** What the provider can and cannot do, and the account's limits. */
  capabilities(): CapabilitiesResponse;
  /** Ok where the backing services answer. */
  check(options?: CallOptions): Answer<void>;
  authenticate(headers: credentials.CredentialHeaders, options?: CallOptions): Answer<Principal>;
  /** Takes one of the account's requests of this minute. */
  countRequest(principal: Principal): Result<void, RateLimited>;

  checkName(principal: Principal, request: Raw, options?: CallOptions): Answer<NameCheck>;
  /** Receives and walks a source. Who got it discards it, unless it was given to `deploy`, which does that itself. */
  receiveSource(principal: Principal, bytes: AsyncIterable<Uint8Array>, options?: CallOptions): Answer<ReceivedSource>;
  plan(principal: Principal, request: DeployRequest, options?: CallOptions): Answer<PlanResponse>;
  deploy(principal: Principal, request: DeployRequest, options?: CallOptions): Answer<DeployRun>;
  resumeDeploy(principal: Principal, request: Raw): Result<{ run: DeployRun; after: number }, ControlPlaneError>;
  cancelDeploy(principal: Principal, request: Raw): Answer<{ detail: string }>;
  listDeployments(principal: Principal, options?: CallOptions): Answer<readonly Deployment[]>;
  deleteDeployment(principal: Principal, request: Raw, options?: CallOptions): Answer<{ detail: string }>;
  readLogs(principal: Principal, request: Raw, options?: CallOptions): Answer<LogPage>;

  /** Answers a SELECT over the account's logs and billing. */
  runSql(principal: Principal, request: Raw, options?: CallOptions): Answer<SqlAnswer>;

  createVolume(principal: Principal, request: Raw, options?: CallOptions): Answer<volumes.CreatedVolume>;
  listVolumes(principal: Principal, options?: CallOptions): Answer<readonly Volume[]>;
  deleteVolume(principal: Principal, request: Raw, options?: CallOptions): Answer<{ detail: string }>;
  listTrash(principal: Principal, options?: CallOptions): Answer<readonly TrashedVolume[]>;
  restoreVolume(principal: Principal, request: Raw, options?: CallOptions): Answer<Volume>;
  listObjects(principal: Principal, request: Raw, options?: CallOptions): Answer<ObjectPage>;
  deleteObject(principal: Principal, request: Raw, options?: CallOptions): Answer<{ detail: string }>;
  /** A signed URL to PUT an object. */
  grantUpload(principal: Principal, request: Raw, options?: CallOptions): Answer<UploadGrant>;
  /** A signed URL to GET an object. */
  grantDownload(principal: Principal, request: Raw, options?: CallOptions): Answer<DownloadGrant>;

  createKey(principal: Principal, request: Raw, options?: CallOptions): Answer<credentials.NewKey>;
  listKeys(principal: Principal, options?: CallOptions): Answer<readonly credentials.ListedKey[]>;
  revokeKey(principal: Principal, request: Raw, options?: CallOptions): Answer<{ detail: string }>;
  issueToken(principal: Principal, options?: CallOptions): Answer<credentials.Token>;
  /** What the account pays for. */
  getSubscription(principal: Principal, options?: CallOptions): Answer<Subscription>;

  /** Ends every deploy that runs here with `interrupted` and waits until nothing of them is left. */
  close(): Promise<void>;
}

const capabilitiesResponse = ({ ports, settings }: Context): CapabilitiesResponse => {
  const { accountLimits: limits } = settings;
  return {
    ...withFormerNames(ports.provider.capabilities),
    limits: {
      deployments: limits.deployments,
      instances: limits.instances,
      volumes: limits.volumes,
      builds_at_once: limits.buildsAtOnce,
      uploads_at_once: limits.uploadsAtOnce,
      sql_at_once: limits.sqlAtOnce,
      requests_per_minute: limits.requestsPerMinute,
    },
  };
};

const requestCounter = ({ ports, settings }: Context) => {
  const buckets = new Map<string, Bucket>();
  return ({ account }: Principal): Result<void, RateLimited> => {
    const perMinute = settings.accountLimits.requestsPerMinute;
    const { bucket, retryAfterSeconds } = takeToken(buckets.get(account), perMinute, ports.clock.now());
    buckets.set(account, bucket);
    return retryAfterSeconds === undefined
      ? ok(undefined)
      : err(rateLimited(`Your account may make ${perMinute} requests a minute.`, retryAfterSeconds));
  };
};

type UseCase<A extends unknown[], T> = (context: Context, principal: Principal, ...rest: A) => Answer<T>;

/**
 * Use cases as they are called: for a principal that is one, because what has no account would share it with everything
 * else that has none; and with bugs as values, told to the operator.
 */
const offeredIn =
  (context: Context) =>
  <A extends unknown[], T>(useCase: UseCase<A, T>) =>
  (principal: Principal, ...rest: A): Answer<T> =>
    // Not `ResultAsync.orTee`: what it makes lives until the next full collection of garbage, with each request.
    catchBugs<T, ControlPlaneError>(async () => {
      const answer = await catchBugs(async () =>
        isAccount(principal.account)
          ? await useCase(context, principal, ...rest)
          : err<T, ControlPlaneError>(internal(`There is no account '${principal.account}'; make one by accountOf().`)),
      );
      if (answer.isErr() && answer.error.kind === "internal")
        context.ports.logger.error("a use case met a bug", { bug: answer.error.message, cause: answer.error.cause });
      return answer;
    });

/** Puts the use cases on top of the ports. Throws where the provider was made for another version of them. */
export const createControlPlane = (ports: Ports, input: SettingsInput = {}): ControlPlane => {
  const made = ports.provider.contractVersion;
  if (made !== CONTRACT_VERSION)
    throw new TypeError(
      `The provider was made for version ${made} of Portside's ports; this is version ${CONTRACT_VERSION}.`,
    );
  const context = createContext(ports, input);
  const capabilities = capabilitiesResponse(context);
  const countRequest = requestCounter(context);
  const offered = offeredIn(context);
  return Object.freeze<ControlPlane>({
    settings: context.settings,
    capabilities: () => capabilities,
    check: (options) => ports.provider.check(options),
    authenticate: (headers, options) => credentials.authenticate(context, headers, options),
    countRequest,
    checkName: offered(checkName),
    receiveSource: offered(receiveSource),
    plan: offered(plan),
    deploy: offered(deploy),
    resumeDeploy: (principal, request) => resumeDeploy(context, principal, request),
    cancelDeploy: offered(cancelDeploy),
    listDeployments: offered(listDeployments),
    deleteDeployment: offered(deleteDeployment),
    readLogs: offered(readLogs),
    runSql: offered(runSql),
    createVolume: offered(volumes.createVolume),
    listVolumes: offered(volumes.listVolumes),
    deleteVolume: offered(volumes.deleteVolume),
    listTrash: offered(volumes.listTrash),
    restoreVolume: offered(volumes.restoreVolume),
    listObjects: offered(objects.listObjects),
    deleteObject: offered(objects.deleteObject),
    grantUpload: offered(objects.grantUpload),
    grantDownload: offered(objects.grantDownload),
    createKey: offered(credentials.createKey),
    listKeys: offered(credentials.listKeys),
    revokeKey: offered(credentials.revokeKey),
    issueToken: offered(credentials.issueToken),
    getSubscription: offered(getSubscription),
    close: () => context.runs.endAll("interrupted"),
  });
};

export type { DeployRequest, DeployRun, PlanResponse, ReceivedSource };
