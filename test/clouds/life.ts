/** Volumes, deployments and releases on a cloud's fakes match the models; services really mount the volumes. */
import fc from "fast-check";
import { test } from "vitest";
import { releaseLife, retentionLife } from "../models/release-life.ts";
import { storageLife } from "../models/storage-life.ts";
import { createFastClock } from "../support/clocks/fast-clock.ts";
import { runningReleases, runReleaseLife, templatesShown } from "../support/providers/release-system.ts";
import { runLife, runningSystem } from "../support/providers/storage-system.ts";
import { runs, within } from "../support/vitest/runs.ts";
import { type Cloud, type Fakes, openPlatform } from "./cloud.ts";
import { type RuntimeDeps, runtimeDeps } from "./subject.ts";

const KEPT = 3;

/** Milliseconds that one run may take on a busy machine. The bound only ends a hang. */
const RUN_MS = 60_000;

interface ReleaseSettings {
  /** Whether the cloud lists releases whose images were removed. */
  readonly listsPruned: boolean;
}

const openReleases = async <F extends Fakes>(
  cloud: Cloud<F>,
  { listsPruned }: ReleaseSettings,
  services: "real" | "simulated" = "real",
  deps: RuntimeDeps = runtimeDeps(),
) => {
  const { controlPlane, ports, fakes, close } = await openPlatform(cloud, services, deps, { releasesKept: KEPT });
  return {
    ...runningReleases(controlPlane, { kept: KEPT, listsPruned }),
    ...(services === "simulated" && templatesShown(ports.provider.services)),
    close,
    pass: async () => fakes.cleanUpImages?.(),
  };
};

const anyReleases = async (times: number, open: () => ReturnType<typeof openReleases>): Promise<void> => {
  const probe = await open();
  const hasSecrets = probe.controlPlane.capabilities().secrets.supported;
  await probe.close();
  await fc.assert(
    fc.asyncProperty(releaseLife(15, hasSecrets), async (life) => runReleaseLife(life, await open())),
    runs(times),
  );
};

/**
 * Simulates the services, because processes do not start faster on a fast clock.
 * @param speed how many times faster than the machine's clock the clock of the cloud runs
 * @param times the number of runs
 */
export const unfriendlyLifeTest = <F extends Fakes>(
  cloud: Cloud<F>,
  releases: ReleaseSettings,
  speed: number,
  times: number,
): void => {
  test(
    `any deploys, rollbacks and changes of secrets on an unfriendly ${cloud.name} match the model`,
    {
      timeout: within() + times * RUN_MS,
    },
    () =>
      anyReleases(times, () =>
        openReleases(cloud, releases, "simulated", { ...runtimeDeps(), clock: createFastClock(speed) }),
      ),
  );
};

export const lifeTests = <F extends Fakes>(cloud: Cloud<F>, releases: ReleaseSettings): void => {
  test(`any sequence of volume and deployment operations on ${cloud.name} matches the model`, {
    timeout: within(),
  }, async () => {
    await fc.assert(
      fc.asyncProperty(storageLife(15), async (life) => {
        const { controlPlane, close } = await openPlatform(cloud);
        await runLife(life, { ...runningSystem(controlPlane), close });
      }),
      runs(2),
    );
  });

  test(`any deploys, rollbacks and changes of secrets on ${cloud.name} match the model`, { timeout: within() }, () =>
    anyReleases(2, () => openReleases(cloud, releases)),
  );

  test(
    `rollbacks on ${cloud.name} restore exactly the releases whose images are kept`,
    { timeout: within() },
    async () => runReleaseLife(retentionLife, await openReleases(cloud, releases)),
  );
};
