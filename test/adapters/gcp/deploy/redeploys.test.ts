/** Rollbacks, changes of variables and new values of secrets, through the control plane on the Google Cloud fakes. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { randomIds } from "../../../../adapters/shared/runtime/system.ts";
import type { DeployRun } from "../../../../core/use-cases/deploy/running-deploy.ts";
import { openPlatform } from "../../../clouds/cloud.ts";
import { stepsOn } from "../../../clouds/deploy-steps.ts";
import { gcp } from "../../../clouds/gcp.ts";
import { expectOk } from "../../../contracts/support.ts";
import { createFastClock } from "../../../support/clocks/fast-clock.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";
import { principalOf } from "../../../support/providers/local-platform.ts";

let platform: Awaited<ReturnType<typeof openPlatform<Awaited<ReturnType<typeof gcp.start>>>>>;
beforeAll(async () => {
  platform = await openPlatform(gcp, "simulated", {
    clock: createFastClock(10),
    ids: randomIds,
    logger: silentLogger,
  });
});
afterAll(() => platform.close());

const principalFor = (name: string) => principalOf(`account-of-${name}`);

const done = async (run: DeployRun): Promise<void> => {
  const end = (await Array.fromAsync(run.follow())).at(-1);
  expect(end?.status, JSON.stringify(end)).toBe("DONE");
};

const releasesOf = async (name: string) =>
  (await expectOk(platform.controlPlane.listReleases(principalFor(name), { name }))).releases;

test("a rollback restores the image by its digest, and the next deploy gets all traffic", async () => {
  const { deployed, shown } = stepsOn(platform.controlPlane);
  await deployed("app", { env: { COLOUR: "red" }, volumes: {} });
  await deployed("app", { env: { COLOUR: "blue" }, volumes: {} });
  await done(await expectOk(platform.controlPlane.rollback(principalFor("app"), { name: "app" })));
  const [third, second, first] = await releasesOf("app");
  expect([third, second, first].map((one) => [one?.release, one?.status, one?.rolled_back_to])).toEqual([
    [3, "serving", 1],
    [2, "replaced", null],
    [1, "replaced", null],
  ]);
  expect(third?.image_digest).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(third?.image_digest).toBe(first?.image_digest);
  expect(second?.image_digest).not.toBe(first?.image_digest);
  expect(third?.declaration.env).toEqual(first?.declaration.env);
  expect(third?.declaration.env["COLOUR"]).not.toBe(second?.declaration.env["COLOUR"]);
  await deployed("app", { volumes: {} });
  const [fourth] = await releasesOf("app");
  expect(fourth).toMatchObject({ release: 4, status: "serving" });
  expect((await shown("app"))?.revision).toBe(fourth?.revision);
});

test("a new value of a secret redeploys the deployment that follows it, and a rollback restores the version", async () => {
  const { controlPlane } = platform;
  const { deployed } = stepsOn(controlPlane);
  const principal = principalFor("shop");
  const set = async (value: string) => expectOk(controlPlane.setSecret(principal, { name: "KEY", value }));
  await set("first value");
  await deployed("shop", { env: { TOKEN: { secret: "KEY" } }, volumes: {} });
  const { version, deploys } = await set("second value");
  expect(deploys.map(({ name }) => name)).toEqual(["shop"]);
  for (const { deploy_id } of deploys)
    await done((await expectOk(controlPlane.resumeDeploy(principal, { deploy_id }))).run);
  expect((await releasesOf("shop")).map((one) => one.secrets)).toEqual([{ KEY: version }, { KEY: 1 }]);
  await done(await expectOk(controlPlane.rollback(principal, { name: "shop" })));
  expect((await releasesOf("shop"))[0]).toMatchObject({ secrets: { KEY: 1 }, rolled_back_to: 1 });
  const refused = await controlPlane.deleteSecret(principal, { name: "KEY", version: 1 });
  expect(refused._unsafeUnwrapErr()).toMatchObject({ kind: "conflict" });
});

test("setting a variable and restarting keep the image", async () => {
  const { deployed } = stepsOn(platform.controlPlane);
  await deployed("site", { env: { A: "1" }, volumes: {} });
  const request = { name: "site", set: { B: "2" }, unset: ["A"] };
  await done(await expectOk(platform.controlPlane.setEnvironment(principalFor("site"), request)));
  await done(await expectOk(platform.controlPlane.restartDeployment(principalFor("site"), { name: "site" })));
  const all = await releasesOf("site");
  expect(all.map(({ release, declaration }) => [release, Object.keys(declaration.env)])).toEqual([
    [3, ["B"]],
    [2, ["B"]],
    [1, ["A"]],
  ]);
  expect(new Set(all.map((one) => one.image_digest)).size).toBe(1);
});
