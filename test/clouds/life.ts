/** Volumes, deployments and releases on a cloud's fakes match the models; services really mount the volumes. */
import fc from "fast-check";
import { test } from "vitest";
import { releaseLife, retentionLife } from "../models/release-life.ts";
import { storageLife } from "../models/storage-life.ts";
import { createTickingClock } from "../support/clocks/ticking-clock.ts";
import { runningReleases, runReleaseLife, templatesShown } from "../support/providers/release-system.ts";
import { runLife, runningSystem } from "../support/providers/storage-system.ts";
import { runs, within } from "../support/vitest/runs.ts";
import { type Cloud, type Fakes, openPlatform } from "./cloud.ts";
import { runtimeDeps } from "./subject.ts";

const KEPT = 3;

/** Milliseconds that one run may take on a busy machine. The bound only ends a hang. */
const RUN_MS = 60_000;

interface ReleaseSettings {
  /** Whether the cloud lists releases whose images were removed. */
  readonly listsPruned: boolean;
}

type Opened<F extends Fakes> = Awaited<ReturnType<typeof openPlatform<F>>>;

const systemOf = <F extends Fakes>({ controlPlane, fakes, close }: Opened<F>, { listsPruned }: ReleaseSettings) => ({
  ...runningReleases(controlPlane, { kept: KEPT, listsPruned }),
  close,
  pass: async () => fakes.cleanUpImages?.(),
});

const openReleases = async <F extends Fakes>(cloud: Cloud<F>, settings: ReleaseSettings) =>
  systemOf(await openPlatform(cloud, "real", runtimeDeps(), { releasesKept: KEPT }), settings);

/** Services are simulated, and delays pass on a clock that does not run ahead of this process. */
const openQuickReleases = async <F extends Fakes>(cloud: Cloud<F>, settings: ReleaseSettings) => {
  const clock = createTickingClock();
  const opened = await openPlatform(cloud, "simulated", { ...runtimeDeps(), clock }, { releasesKept: KEPT });
  return {
    ...systemOf(opened, settings),
    ...templatesShown(opened.ports.provider.services),
    close: async () => {
      await opened.close();
      clock[Symbol.dispose]();
    },
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

/** @param times the number of runs */
export const quickLifeTest = <F extends Fakes>(cloud: Cloud<F>, releases: ReleaseSettings, times: number): void => {
  test(
    `any deploys, rollbacks and changes of secrets on ${cloud.name} match the model`,
    {
      timeout: within() + times * RUN_MS,
    },
    () => anyReleases(times, () => openQuickReleases(cloud, releases)),
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
