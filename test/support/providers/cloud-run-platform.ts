/** Cloud Run as the platform, on a fake with simulated services, for the shared rollout suites and Cloud Run's own. */
import { expect } from "vitest";
import { createIdentities } from "../../../adapters/gcp/accounts/identities.ts";
import type { GcpConfig } from "../../../adapters/gcp/config.ts";
import { createRunPlatform } from "../../../adapters/gcp/deploy/platform.ts";
import { createGcpSecrets } from "../../../adapters/gcp/secrets/secret-store.ts";
import { randomIds } from "../../../adapters/shared/runtime/system.ts";
import type { ServicePlatform } from "../../../core/ports/service-platform.ts";
import type { Clock } from "../../../core/ports/system.ts";
import { oneMount, type RolloutCloud, rolloutSteps } from "../../clouds/rollouts/steps.ts";
import { createFakeEngine } from "../../fakes/engine/engine.ts";
import { config, openRunWorld, type WorldOptions } from "../../fakes/gcp/run/world.ts";
import { PROJECT, REGION } from "../../fakes/gcp/test-project.ts";
import { createLeapingClock } from "../clocks/leaping-clock.ts";
import { recordingLogger } from "../logs/silent-logger.ts";

type FakeEngine = Awaited<ReturnType<typeof createFakeEngine>>;

export const openFakeCloudRun = async (
  options: Partial<WorldOptions<FakeEngine>> = {},
  clock: Clock = createLeapingClock(),
  settings: Partial<GcpConfig> = {},
) => {
  const world = await openRunWorld({ engine: createFakeEngine, clock, ...options });
  const { logger, logged } = recordingLogger();
  // With pauses of zero, a polling loop would never reach its deadline.
  const deps = { clock, ids: randomIds, logger, random: () => 0.5 };
  const secretStore = () =>
    createGcpSecrets(config, world.clients, deps, createIdentities(PROJECT, world.clients, deps));
  const secrets = secretStore();
  const replicaWith = (own: Partial<GcpConfig>, lastLines = world.lastLines): ServicePlatform =>
    createRunPlatform({ ...config, ...own }, world.clients, deps, { lastLines, secrets });
  const image = (engineImage = "hello") => {
    const reference = `${REGION}-docker.pkg.dev/${PROJECT}/portside/tests:${engineImage.replace(":", "-")}`;
    world.registry.push(reference, engineImage);
    return reference;
  };
  return {
    ...world,
    ...rolloutSteps({ replica: () => replicaWith(settings), image }),
    replicaWith,
    /** The store of the platform's process. */
    secretStore: secrets,
    /** The store of another process. */
    otherSecretStore: secretStore,
    logged,
    clock,
    faultsOf: { run: world.run.faults, iam: world.iam.faults, storage: world.storage.faults },
    /** The revision that receives requests. */
    routed: (name: string): string | undefined => world.made.serving.get(name),
  };
};

export type FakeCloudRun = Awaited<ReturnType<typeof openFakeCloudRun>>;

export const runRollouts: RolloutCloud<FakeCloudRun> = {
  open: async (clock) => {
    const run = await openFakeCloudRun({}, clock);
    run.storage.world.insertBucket({ name: "vol-data" });
    // Each account has a service identity, and tests may have more accounts than a project's default quota.
    run.iam.maxAccounts = 10_000;
    return run;
  },
  freed: "free",
  // Writes to a volume are buffered in memory, so a lower memory limit causes a warning.
  mounting: { mounts: oneMount, memory: 2 ** 30 },
  onlyServing: (run, names) => {
    expect([...run.made.serving.keys()].sort()).toEqual([...names].sort());
    expect(run.run.names().sort()).toEqual([...names].sort());
  },
};
