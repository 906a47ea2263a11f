/** A server does not leak memory or open files of replaced revisions. */
import { readdirSync } from "node:fs";
import { queryObjects } from "node:v8";
import { Pool as UndiciPool } from "undici";
import { expect, test } from "vitest";
import { Pool } from "../../../adapters/local/ingress/pool.ts";
import { createSystemClock } from "../../../adapters/shared/runtime/system.ts";
import { RunningDeploy } from "../../../core/use-cases/deploy/running-deploy.ts";
import { helloServer, nodeSource } from "../../support/archives/archives.ts";
import { shiftedClock } from "../../support/clocks/shifted-clock.ts";
import { startLocal } from "../../support/providers/local-platform.ts";

const HOUR_MS = 3_600_000;

/** Live objects after a full garbage collection, by class, and open files. Each count walks the whole heap. */
const kept = () => ({
  pools: queryObjects(Pool, { format: "count" }),
  connections: queryObjects(UndiciPool, { format: "count" }),
  runs: queryObjects(RunningDeploy, { format: "count" }),
  files: readdirSync("/proc/self/fd").length,
});

test("redeploys leak no pools, connections or files, and ended deploys are dropped after an hour", async (context) => {
  if (process.platform !== "linux") context.skip("only Linux lists a process's open files in /proc");
  const clock = shiftedClock(createSystemClock());
  await using platform = await startLocal({ runner: "process", drainSeconds: 1 }, {}, { clock });
  const redeploy = async (text: string) => {
    const url = await platform.up(nodeSource(helloServer(text)));
    expect(await (await fetch(url)).text()).toBe(text);
    clock.set(HOUR_MS);
  };
  // Exclude what the first redeploys load and open.
  for (let n = 0; n < 3; n++) await redeploy(`warm ${n}`);
  const before = kept();
  for (let n = 0; n < 8; n++) await redeploy(`app ${n}`);
  // The last revisions may still drain. Eight leaked ones would be visible.
  await expect
    .poll(
      () => {
        const after = kept();
        return (
          after.pools < 4 &&
          after.runs < 4 &&
          after.connections < before.connections + 4 &&
          after.files < before.files + 8
        );
      },
      { interval: 1000 },
    )
    .toBe(true);
});
