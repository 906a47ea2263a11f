/** Rollbacks, restarts and changes of variables through the control plane, on AWS. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ControlPlaneError } from "../../../../core/errors.ts";
import type { ResultAsync } from "../../../../core/result.ts";
import type { DeployRun } from "../../../../core/use-cases/deploy/running-deploy.ts";
import { aws } from "../../../clouds/aws.ts";
import { callsOf, openPlatform } from "../../../clouds/cloud.ts";
import { runtimeDeps } from "../../../clouds/subject.ts";
import { chunked, expectOk } from "../../../contracts/support.ts";
import { nodeSource } from "../../../support/archives/archives.ts";
import { createFastClock } from "../../../support/clocks/fast-clock.ts";
import { principalOf } from "../../../support/providers/local-platform.ts";

const me = principalOf("acme");
const name = "app";

/** A server that answers every request with the text and the variable `A`. */
const source = (text: string): Buffer =>
  nodeSource(`
import { createServer } from "node:http";
createServer((request, response) => response.end(${JSON.stringify(`${text} `)} + process.env.A)).listen(process.env.PORT);
process.on("SIGTERM", () => process.exit(0));
`);

let platform: Awaited<ReturnType<typeof openPlatform<Awaited<ReturnType<typeof aws.start>>>>>;
beforeAll(async () => {
  platform = await openPlatform(aws, "real", { ...runtimeDeps(), clock: createFastClock(20) });
});
afterAll(() => platform.close());

const done = async (starting: ResultAsync<DeployRun, ControlPlaneError>) => {
  const events = await Array.fromAsync((await expectOk(starting)).follow());
  expect(events.at(-1)?.status, JSON.stringify(events.at(-1))).toBe("DONE");
  return events;
};

const deploy = async (text: string, env: Readonly<Record<string, string>>) => {
  const archive = await expectOk(platform.controlPlane.receiveSource(me, chunked(source(text))));
  const fields = { function_name: name, volumes: {}, env };
  return done(platform.controlPlane.deploy(me, { fields, archive }));
};

const served = async (): Promise<string> => {
  const [own] = await expectOk(platform.controlPlane.listDeployments(me));
  return (await fetch(own?.url ?? "", { headers: { connection: "close" } })).text();
};

const releases = async () =>
  (await expectOk(platform.controlPlane.listReleases(me, { name }))).releases.map((one) => [
    one.release,
    one.status,
    one.rolled_back_to,
  ]);

test("a rollback restores the image and the variables without a build, and the next redeploys continue from it", async () => {
  await deploy("first", { A: "one" });
  await deploy("second", { A: "two" });
  expect(await served()).toBe("second two");

  const calls = await callsOf(platform.fakes, async () => {
    const events = await done(platform.controlPlane.rollback(me, { name }));
    expect(events.map(({ status }) => status)).not.toContain("BUILDING");
  });
  expect(calls).not.toHaveProperty("builds");
  expect(await served()).toBe("first one");

  await done(platform.controlPlane.setEnvironment(me, { name, set: { A: "three" } }));
  expect(await served()).toBe("first three");
  await done(platform.controlPlane.restartDeployment(me, { name }));
  expect(await served()).toBe("first three");
  expect(await releases()).toEqual([
    [5, "serving", null],
    [4, "replaced", null],
    [3, "replaced", 1],
    [2, "replaced", null],
    [1, "replaced", null],
  ]);
  const { releases: rows } = await expectOk(platform.controlPlane.listReleases(me, { name }));
  expect(rows[0]?.image_digest).toMatch(/:[0-9a-f]{32}-[0-9a-f]{64}$/);
  expect(rows[0]?.image_digest).toBe(rows[4]?.image_digest);
});
