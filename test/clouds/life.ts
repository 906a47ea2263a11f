/** Volumes and deployments on a cloud's fakes match the model; services really mount the volumes. */
import fc from "fast-check";
import { test } from "vitest";
import { releaseLife } from "../models/release-life.ts";
import { storageLife } from "../models/storage-life.ts";
import { runningReleases, runReleaseLife } from "../support/providers/release-system.ts";
import { runLife, runningSystem } from "../support/providers/storage-system.ts";
import { runs, within } from "../support/vitest/runs.ts";
import { type Cloud, type Fakes, openPlatform } from "./cloud.ts";

export const lifeTests = <F extends Fakes>(cloud: Cloud<F>): void => {
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

  test(`any sequence of deploys, rollbacks and changes of secrets on ${cloud.name} matches the model`, {
    timeout: within(),
  }, async () => {
    const { controlPlane: probe, close: end } = await openPlatform(cloud);
    const hasSecrets = probe.capabilities().secrets.supported;
    await end();
    await fc.assert(
      fc.asyncProperty(releaseLife(15, hasSecrets), async (life) => {
        const { controlPlane, close } = await openPlatform(cloud);
        await runReleaseLife(life, { ...runningReleases(controlPlane), close });
      }),
      runs(2),
    );
  });
};
