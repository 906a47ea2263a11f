/** Cloud Run as the platform, against the fake: rollouts, conditions, what survives, and how many calls it takes. */
import { afterEach, expect, test } from "vitest";
import { createRunPlatform } from "../../../../adapters/gcp/run/platform.ts";
import { createSystemClock, randomIds } from "../../../../adapters/shared/system.ts";
import { collect, templateFor } from "../../../contracts/support.ts";
import { createPretendedEngine } from "../../../fakes/gcp/run/engine.ts";
import { openRunWorld, PROJECT, REGION, type RunWorld } from "../../../fakes/gcp/run/world.ts";

let world: RunWorld | undefined;
afterEach(() => world?.close());

test("thread", async () => {
  world = await openRunWorld({ engine: createPretendedEngine });
  const platform = createRunPlatform(
    { project: PROJECT, region: REGION, settleSeconds: 0 },
    world.clients,
    {
      clock: createSystemClock(),
      ids: randomIds,
      logger: { debug: console.log, info: console.log, warn: console.log, error: console.log },
    },
    { lastLines: world.lastLines },
  );
  const image = `${REGION}-docker.pkg.dev/${PROJECT}/portside/acct:src-1`;
  world.registry.push(image, "hello");
  const template = templateFor("acme" as never, "app" as never, image);
  const t = performance.now();
  console.log(
    await collect(platform.rollout({ template, expected: "absent", listenDeadline: 5000 })),
    performance.now() - t,
  );
  const found = (await platform.find("app" as never))._unsafeUnwrap();
  console.log(JSON.stringify(found, null, 1), world.run.faults.log);
  expect(found.kind).toBe("held");
});
