/**
 * Google's own client packages. Each loads at first use, so importing this adapter loads none of them. Embedders may
 * pass their own clients.
 */
import type { ArtifactRegistryClient } from "@google-cloud/artifact-registry";
import type { BigQuery } from "@google-cloud/bigquery";
import type { CloudBuildClient } from "@google-cloud/cloudbuild";
import type { v2 as logging } from "@google-cloud/logging";
import type { v2 as run } from "@google-cloud/run";
import type { CloudSchedulerClient } from "@google-cloud/scheduler";
import type { Storage } from "@google-cloud/storage";
import type { AuthClient, GoogleAuth } from "google-auth-library";
import { needPackages } from "../shared/runtime/optional-package.ts";

export interface GcpClients {
  readonly services: run.ServicesClient;
  readonly revisions: run.RevisionsClient;
  readonly builds: CloudBuildClient;
  readonly registry: ArtifactRegistryClient;
  readonly storage: Storage;
  readonly logging: InstanceType<typeof logging.LoggingServiceV2Client>;
  readonly scheduler: CloudSchedulerClient;
  readonly bigquery: BigQuery;
  /** An authenticated `request`, for the APIs without a client package (IAM, Service Usage). */
  readonly auth: GoogleAuth<AuthClient>;
}

/** Returns a client, created at first use. Throws if its package is not installed. */
export type ClientSource = <K extends keyof GcpClients>(name: K) => Promise<GcpClients[K]>;

const loadPackage = <T>(name: string, load: () => Promise<T>): Promise<T> =>
  needPackages("The provider gcp", [name], load);

type ClientFactories = { readonly [K in keyof GcpClients]: (projectId: string) => Promise<GcpClients[K]> };

const factories: ClientFactories = {
  services: async (projectId) => {
    const { v2 } = await loadPackage("@google-cloud/run", () => import("@google-cloud/run"));
    return new v2.ServicesClient({ projectId });
  },
  revisions: async (projectId) => {
    const { v2 } = await loadPackage("@google-cloud/run", () => import("@google-cloud/run"));
    return new v2.RevisionsClient({ projectId });
  },
  builds: async (projectId) => {
    const { CloudBuildClient } = await loadPackage(
      "@google-cloud/cloudbuild",
      () => import("@google-cloud/cloudbuild"),
    );
    return new CloudBuildClient({ projectId });
  },
  registry: async (projectId) => {
    const name = "@google-cloud/artifact-registry";
    const { ArtifactRegistryClient } = await loadPackage(name, () => import("@google-cloud/artifact-registry"));
    return new ArtifactRegistryClient({ projectId });
  },
  storage: async (projectId) => {
    const { Storage } = await loadPackage("@google-cloud/storage", () => import("@google-cloud/storage"));
    // Only `providerCall` retries.
    return new Storage({ projectId, retryOptions: { autoRetry: false } });
  },
  logging: async (projectId) => {
    const { v2 } = await loadPackage("@google-cloud/logging", () => import("@google-cloud/logging"));
    return new v2.LoggingServiceV2Client({ projectId });
  },
  scheduler: async (projectId) => {
    const { CloudSchedulerClient } = await loadPackage(
      "@google-cloud/scheduler",
      () => import("@google-cloud/scheduler"),
    );
    return new CloudSchedulerClient({ projectId });
  },
  bigquery: async (projectId) => {
    const { BigQuery } = await loadPackage("@google-cloud/bigquery", () => import("@google-cloud/bigquery"));
    return new BigQuery({ projectId, autoRetry: false });
  },
  auth: async (projectId) => {
    const { GoogleAuth } = await loadPackage("google-auth-library", () => import("google-auth-library"));
    return new GoogleAuth({ projectId, scopes: "https://www.googleapis.com/auth/cloud-platform" });
  },
};

/** @param given clients to use, unchanged, instead of new ones */
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
