/** Cloud calls per response must not grow with the account's data: calls are billed and have project quotas. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { randomIds } from "../../adapters/shared/runtime/system.ts";
import { expectOk } from "../contracts/support.ts";
import { createFastClock } from "../support/clocks/fast-clock.ts";
import { silentLogger } from "../support/logs/silent-logger.ts";
import { principalOf } from "../support/providers/local-platform.ts";
import { type Cloud, callsOf, type Fakes, openPlatform } from "./cloud.ts";
import { firstDeclaration, stepsOn } from "./deploy-steps.ts";

/** The methods called, by fake. */
type Costs = Readonly<Record<string, readonly unknown[]>>;

export interface CallCosts {
  readonly volumes: Costs;
  readonly deployments: Costs;
  /** The fake of the buckets; a URL costs at most one call to it. */
  readonly buckets: string;
}

const VOLUMES = 30;
const DEPLOYMENTS = 3;

export const callTests = <F extends Fakes>(cloud: Cloud<F>, costs: CallCosts): void => {
  describe(`calls of ${cloud.name}`, () => {
    const principal = principalOf("acme");
    let open: Awaited<ReturnType<typeof openPlatform<F>>>;
    const clock = createFastClock(100);
    beforeAll(async () => {
      open = await openPlatform(cloud, "simulated", {
        clock,
        ids: randomIds,
        logger: silentLogger,
      });
      const { deployed } = stepsOn(open.controlPlane, () => principal);
      for (let index = 0; index < VOLUMES; index++)
        await expectOk(open.controlPlane.createVolume(principal, { name: `volume-${index}` }));
      for (let index = 0; index < DEPLOYMENTS; index++) await deployed(`app-${index}`, firstDeclaration);
    });
    afterAll(() => open.close());

    test("a list of any number of volumes costs the same number of calls", async () => {
      const { controlPlane, fakes } = open;
      const list = async () => expect(await expectOk(controlPlane.listVolumes(principal))).toHaveLength(VOLUMES);
      // The first listing may also process deploys since the previous listing.
      await list();
      expect(await callsOf(fakes, list)).toEqual(costs.volumes);
    });

    test("a list of any number of deployments costs the same number of calls", async () => {
      const { controlPlane, fakes } = open;
      const list = async () =>
        expect(await expectOk(controlPlane.listDeployments(principal))).toHaveLength(DEPLOYMENTS);
      await list();
      await clock.sleep(6000);
      expect(await callsOf(fakes, list)).toEqual(costs.deployments);
    });

    test("a URL costs at most one read of the bucket", async () => {
      const { controlPlane, fakes } = open;
      const calls = await callsOf(fakes, async () =>
        expectOk(controlPlane.grantUpload(principal, { volume: "volume-1", path: "a.txt" })),
      );
      const { [costs.buckets]: looks = [], ...others } = calls;
      expect(others).toEqual({});
      expect(looks.length).toBeLessThanOrEqual(1);
    });
  });
};
