/**
 * Google's client packages. Each loads at first use, so importing this adapter loads none of them. Embedders may pass
 * their own clients.
 */
import type { ArtifactRegistryClient } from "@google-cloud/artifact-registry";
import type { BigQuery } from "@google-cloud/bigquery";
import type { CloudBuildClient } from "@google-cloud/cloudbuild";
import type { v2 as logging } from "@google-cloud/logging";
import type { v2 } from "@google-cloud/run";
import type { CloudSchedulerClient } from "@google-cloud/scheduler";
import type { Storage } from "@google-cloud/storage";
import type { AuthClient, GoogleAuth } from "google-auth-library";
import { needPackages } from "../shared/runtime/optional-package.ts";

/** The Google Cloud clients that the provider uses. */
export interface GcpClients {
  readonly services: v2.ServicesClient;
  readonly revisions: v2.RevisionsClient;
  readonly builds: CloudBuildClient;
  readonly registry: ArtifactRegistryClient;
  readonly storage: Storage;
  readonly logging: InstanceType<typeof logging.LoggingServiceV2Client>;
  readonly scheduler: CloudSchedulerClient;
  readonly bigquery: BigQuery;
  /**
   * An authenticated `request`, for the APIs that the provider calls without a client package, such as IAM, Secret
   * Manager and Cloud Monitoring.
   */
  readonly auth: GoogleAuth<AuthClient>;
}

/** Returns a client, created at first use. Throws if its package is not installed. */
export type ClientSource = <K extends keyof GcpClients>(name: K) => Promise<GcpClients[K]>;

const load = <T>(name: string, importPackage: () => Promise<T>): Promise<T> =>
  needPackages("The provider gcp", [name], importPackage);

const run = () => load("@google-cloud/run", () => import("@google-cloud/run"));
const build = () => load("@google-cloud/cloudbuild", () => import("@google-cloud/cloudbuild"));
const registry = () => load("@google-cloud/artifact-registry", () => import("@google-cloud/artifact-registry"));
const storage = () => load("@google-cloud/storage", () => import("@google-cloud/storage"));
const cloudLogging = () => load("@google-cloud/logging", () => import("@google-cloud/logging"));
const scheduler = () => load("@google-cloud/scheduler", () => import("@google-cloud/scheduler"));
const bigquery = () => load("@google-cloud/bigquery", () => import("@google-cloud/bigquery"));
const auth = () => load("google-auth-library", () => import("google-auth-library"));

const SCOPE = "https://www.googleapis.com/auth/cloud-platform";

type ClientFactories = { readonly [K in keyof GcpClients]: (projectId: string) => Promise<GcpClients[K]> };

/** Turns off the clients' retries where their options permit it, because `providerCall` retries. */
const factories: ClientFactories = {
  services: async (projectId) => new (await run()).v2.ServicesClient({ projectId }),
  revisions: async (projectId) => new (await run()).v2.RevisionsClient({ projectId }),
  builds: async (projectId) => new (await build()).CloudBuildClient({ projectId }),
  registry: async (projectId) => new (await registry()).ArtifactRegistryClient({ projectId }),
  storage: async (projectId) => new (await storage()).Storage({ projectId, retryOptions: { autoRetry: false } }),
  logging: async (projectId) => new (await cloudLogging()).v2.LoggingServiceV2Client({ projectId }),
  scheduler: async (projectId) => new (await scheduler()).CloudSchedulerClient({ projectId }),
  bigquery: async (projectId) => new (await bigquery()).BigQuery({ projectId, autoRetry: false }),
  auth: async (projectId) => new (await auth()).GoogleAuth({ projectId, scopes: SCOPE }),
};

/**
 * Returns the clients of a project. Each is created at first use, with the machine's credentials.
 *
 * @param given clients to use instead of new ones
 */
export const clientSource = (project: string, given: Partial<GcpClients> = {}): ClientSource => {
  const created = new Map<keyof GcpClients, Promise<unknown>>();
  return <K extends keyof GcpClients>(name: K): Promise<GcpClients[K]> => {
    const known = given[name] ?? created.get(name);
    if (known !== undefined) return Promise.resolve(known as GcpClients[K] | Promise<GcpClients[K]>);
    const client = factories[name](project);
    created.set(name, client);
    return client;
  };
};
