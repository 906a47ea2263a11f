/** Volumes, deployments and releases on a cloud's fakes match the models; services really mount the volumes. */
import fc from "fast-check";
import { describe, test } from "vitest";
import { releaseLife, retentionLife } from "../models/release-life.ts";
import { storageLife } from "../models/storage-life.ts";
import { createFastClock } from "../support/clocks/fast-clock.ts";
import { runningReleases, runReleaseLife } from "../support/providers/release-system.ts";
import { runLife, runningSystem } from "../support/providers/storage-system.ts";
import { runs, within } from "../support/vitest/runs.ts";
import { type Cloud, type Fakes, openPlatform } from "./cloud.ts";
import { runtimeDeps } from "./subject.ts";

const KEPT = 3;

/** Milliseconds that one run may take on a busy machine. The bound only ends a hang. */
const RUN_MS = 60_000;

interface ReleaseLifeOptions {
  /** Whether the cloud lists releases whose images were removed. */
  readonly listsPruned: boolean;
  /** How many times faster than the machine's clock the clock of the cloud runs. */
  readonly speed: number;
  /** The number of runs with random commands. */
  readonly times: number;
}

export const releaseLifeTests = <F extends Fakes>(
  cloud: Cloud<F>,
  { listsPruned, speed, times }: ReleaseLifeOptions,
): void => {
  const open = () =>
    openPlatform(cloud, "real", { ...runtimeDeps(), clock: createFastClock(speed) }, { releasesKept: KEPT });
  const systemOf = ({ controlPlane, close }: Awaited<ReturnType<typeof open>>) => ({
    ...runningReleases(controlPlane, { kept: KEPT, listsPruned }),
    close,
  });

  describe(`releases on ${cloud.name}`, () => {
    test("match the model after any deploys, rollbacks and changes of secrets", {
      timeout: within() + times * RUN_MS,
    }, async () => {
      const probe = await open();
      const hasSecrets = probe.controlPlane.capabilities().secrets.supported;
      await probe.close();
      await fc.assert(
        fc.asyncProperty(releaseLife(15, hasSecrets), async (life) => runReleaseLife(life, systemOf(await open()))),
        runs(times),
      );
    });

    test("can be restored exactly if their images are kept", { timeout: within() }, async () =>
      runReleaseLife(retentionLife, systemOf(await open())));
  });
};

export const lifeTests = <F extends Fakes>(
  cloud: Cloud<F>,
  releases: Pick<ReleaseLifeOptions, "listsPruned" | "speed">,
): void => {
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

  releaseLifeTests(cloud, { ...releases, times: 2 });
};
