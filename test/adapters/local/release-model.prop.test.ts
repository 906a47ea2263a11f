/** Releases on this machine behave like the model: the process that serves has the source and the variables. */
import fc from "fast-check";
import { test } from "vitest";
import { releaseLife, retentionLife } from "../../models/release-life.ts";
import { startLocal } from "../../support/providers/local-platform.ts";
import { runningReleases, runReleaseLife } from "../../support/providers/release-system.ts";
import { runs, within } from "../../support/vitest/runs.ts";

const retention = { kept: 3, listsPruned: true };

const open = async () => {
  const platform = await startLocal({ runner: "process", releasesKept: retention.kept }, {}, { keepsImages: true });
  return { ...runningReleases(platform.controlPlane, retention), close: () => platform[Symbol.asyncDispose]() };
};

test("agrees with the model after any commands", { timeout: within() }, async () => {
  await fc.assert(
    fc.asyncProperty(releaseLife(20), async (life) => runReleaseLife(life, await open())),
    runs(4),
  );
});

test("restores exactly the releases whose images are kept", { timeout: within() }, async () =>
  runReleaseLife(retentionLife, await open()),
);
