/** Starts the fakes that a rollout needs, with official clients for them. */
import { ArtifactRegistryClient } from "@google-cloud/artifact-registry";
import { CloudBuildClient } from "@google-cloud/cloudbuild";
import { v2 } from "@google-cloud/run";
import { Storage } from "@google-cloud/storage";
import type { LastLines } from "../../../../adapters/cloud/deploy/last-lines.ts";
import { clientSource } from "../../../../adapters/gcp/clients.ts";
import { createSystemClock } from "../../../../adapters/shared/runtime/system.ts";
import type { Clock } from "../../../../core/ports/system.ts";
import type { RunEngine, RunLine } from "../../engine/engine.ts";
import { type AdverseBehaviors, noneAdverse } from "../adverse.ts";
import { FakeBuild, type FakeBuildDeps } from "../build/builds.ts";
import { clientOptions } from "../grpc.ts";
import { FakeIam } from "../iam.ts";
import { FakeRegistry } from "../registry.ts";
import { redirectedAuth } from "../rest-server.ts";
import { FakeSecrets } from "../secrets/server.ts";
import { startFakeStorage } from "../storage/index.ts";
import { gcpConfig, PROJECT } from "../test-project.ts";
import { runRights } from "./rights.ts";
import { FakeRun } from "./services.ts";

export const STAGING = "staged";

export const config = { ...gcpConfig, stagingBucket: STAGING, settleSeconds: 0 };

interface MadeEngine {
  readonly engine: RunEngine;
  readonly build?: FakeBuildDeps["build"];
  close(): unknown;
}

export interface WorldOptions<E extends MadeEngine = MadeEngine> {
  readonly engine: (onLine: (line: RunLine) => void) => Promise<E>;
  readonly adverse?: AdverseBehaviors;
  readonly clock?: Pick<Clock, "now">;
}

export const openRunWorld = async <E extends MadeEngine>(options: WorldOptions<E>) => {
  const lines: RunLine[] = [];
  const made = await options.engine((line) => lines.push(line));
  const registry = new FakeRegistry();
  const { adverse = noneAdverse, clock = createSystemClock() } = options;
  const iam = new FakeIam(adverse, clock);
  const secrets = new FakeSecrets({ iam, clock, adverse });
  const storage = await startFakeStorage({ clock });
  storage.world.insertBucket({ name: STAGING });
  const build = new FakeBuild({
    storage: storage.world,
    push: (reference, image) => registry.push(reference, image),
    build: made.build ?? (async () => ({ image: "hello" })),
    adverse,
  });
  const run = new FakeRun({
    engine: made.engine,
    resolveImage: (reference) => registry.resolve(reference),
    adverse,
    clock,
    ...runRights(adverse, iam, storage.world),
    resolveSecret: (...args) => secrets.resolve(...args),
    onSystemLine: (service, revision, text) =>
      lines.push({ service, revision, log: "varlog/system", severity: "ERROR", text }),
  });
  const servers = {
    run: await run.open(),
    build: await build.open(),
    registry: await registry.open(),
    iam: await iam.open(),
    secrets: await secrets.open(),
  };
  const clients = {
    services: new v2.ServicesClient(clientOptions(servers.run, PROJECT)),
    revisions: new v2.RevisionsClient(clientOptions(servers.run, PROJECT)),
    builds: new CloudBuildClient(clientOptions(servers.build, PROJECT)),
    registry: new ArtifactRegistryClient(clientOptions(servers.registry, PROJECT)),
    storage: new Storage(storage.storageClientOptions),
    auth: redirectedAuth(PROJECT, {
      "https://iam.googleapis.com": servers.iam.origin,
      "https://secretmanager.googleapis.com": servers.secrets.origin,
    }),
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
    secrets,
    storage,
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
      await storage.close();
      await made.close();
    },
  };
};

export type RunWorld = Awaited<ReturnType<typeof openRunWorld>>;
