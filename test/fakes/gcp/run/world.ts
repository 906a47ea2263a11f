/** The fakes that a rollout talks to, open, with the official clients of them. */
import { ArtifactRegistryClient } from "@google-cloud/artifact-registry";
import { CloudBuildClient } from "@google-cloud/cloudbuild";
import { v2 } from "@google-cloud/run";
import { Storage } from "@google-cloud/storage";
import { PassThroughClient } from "google-auth-library";
import { clientSource } from "../../../../adapters/gcp/clients.ts";
import { gcpConfigOf } from "../../../../adapters/gcp/config.ts";
import type { LastLines } from "../../../../adapters/gcp/run/verdict.ts";
import { FakeBuild, type FakeBuildDeps } from "../build/builds.ts";
import { clientOptions } from "../grpc.ts";
import { FakeIam } from "../iam.ts";
import { FakeObjects } from "../objects.ts";
import { FakeRegistry } from "../registry.ts";
import { redirectedAuth } from "../rest-server.ts";
import type { RunEngine, RunLine } from "./engine.ts";
import { FakeRun } from "./services.ts";

export const PROJECT = "test-project";
export const REGION = "europe-west1";

export const STAGING = "staged";

export const config = gcpConfigOf({
  project: PROJECT,
  region: REGION,
  dataDir: "/nowhere",
  stagingBucket: STAGING,
  buildIdentity: `builds@${PROJECT}.iam.gserviceaccount.com`,
  settleSeconds: 0,
});

interface MadeEngine {
  readonly engine: RunEngine;
  readonly build?: FakeBuildDeps["build"];
  close(): unknown;
}

export interface WorldOptions {
  readonly engine: (onLine: (line: RunLine) => void) => Promise<MadeEngine>;
  readonly policies?: readonly string[];
}

export const openRunWorld = async (options: WorldOptions) => {
  const lines: RunLine[] = [];
  const made = await options.engine((line) => lines.push(line));
  const registry = new FakeRegistry();
  const iam = new FakeIam();
  const objects = new FakeObjects();
  objects.addBucket(STAGING);
  const build = new FakeBuild({
    readObject: async (bucket, name) => objects.read(bucket, name),
    writeObject: async (bucket, name, bytes) => objects.write(bucket, name, Buffer.from(bytes)),
    push: (reference, image) => registry.push(reference, image),
    build: made.build ?? (async () => ({ image: "hello" })),
  });
  const run = new FakeRun({
    engine: made.engine,
    resolveImage: (reference) => registry.resolve(reference),
    policies: options.policies ?? [],
  });
  const servers = {
    run: await run.open(),
    build: await build.open(),
    registry: await registry.open(),
    iam: await iam.open(),
    objects: await objects.open(),
  };
  const clients = {
    services: new v2.ServicesClient(clientOptions(servers.run, PROJECT)),
    revisions: new v2.RevisionsClient(clientOptions(servers.run, PROJECT)),
    builds: new CloudBuildClient(clientOptions(servers.build, PROJECT)),
    registry: new ArtifactRegistryClient(clientOptions(servers.registry, PROJECT)),
    storage: new Storage({
      projectId: PROJECT,
      apiEndpoint: servers.objects.origin,
      authClient: new PassThroughClient(),
      retryOptions: { autoRetry: false },
    }),
    auth: redirectedAuth(PROJECT, { "https://iam.googleapis.com": servers.iam.origin }),
  };
  const lastLines: LastLines = async ({ service, revision }) =>
    lines
      .filter((line) => line.service === service && line.revision === revision && line.log !== "requests")
      .map(({ log, text, json }) => ({ system: log === "varlog/system", text: text ?? JSON.stringify(json) }));
  return {
    run,
    build,
    registry,
    iam,
    objects,
    lines: lines as readonly RunLine[],
    lastLines,
    made,
    clients: clientSource(PROJECT, clients),
    close: async () => {
      await run.close();
      build.close();
      for (const server of Object.values(servers)) server.close();
      await Promise.all([
        clients.services.close(),
        clients.revisions.close(),
        clients.builds.close(),
        clients.registry.close(),
      ]);
      await made.close();
    },
  };
};

export type RunWorld = Awaited<ReturnType<typeof openRunWorld>>;
