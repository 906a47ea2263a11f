/** A schedule from its declaration to the service: real deploys and processes, with a clock near a full minute. */
import { afterEach, expect, test } from "vitest";
import { createSystemClock } from "../../../../adapters/shared/runtime/system.ts";
import { type ShiftedClock, shiftedClock } from "../../../support/clocks/shifted-clock.ts";
import { nodeContractSources } from "../../../support/providers/contract-sources.ts";
import { principalOf, startLocal, type TestPlatform } from "../../../support/providers/local-platform.ts";
import { eventually } from "../../../support/vitest/eventually.ts";

let platform: TestPlatform | undefined;
afterEach(async () => {
  await platform?.[Symbol.asyncDispose]();
  platform = undefined;
});

/** Sets the clock to shortly before the next full minute. */
const nearMinute = (clock: ShiftedClock): void => {
  const inMinute = Number(clock.now() / 1_000_000n) % 60_000;
  clock.set(58_500 - inMinute);
};

const firesAt = async (url: string): Promise<Record<string, string>[]> =>
  (await (await fetch(`${url}/fires`)).json()) as Record<string, string>[];

test("fires a deployed schedule at the service with its token, logs it, and removes it with the next deploy", async () => {
  const clock = shiftedClock(createSystemClock());
  platform = await startLocal({ runner: "process", idleSeconds: 600 }, {}, { clock });
  const { deploy, controlPlane, local } = platform;
  const records = await deploy(nodeContractSources.files(), { schedule: "* * * * *", timezone: "Europe/Paris" });
  expect(records.map(({ message }) => message)).toContain("Scheduled: * * * * * (Europe/Paris)");
  const url = records.at(-1)?.url ?? "";
  const token = await (await fetch(`${url}/env?name=CRON_TOKEN`)).text();
  expect(token).toMatch(/^[A-Za-z0-9]{40}$/);
  nearMinute(clock);
  await eventually(async () => expect((await firesAt(url)).length).toBeGreaterThanOrEqual(1));
  const [fired] = await firesAt(url);
  expect(fired).toMatchObject({ "x-cron-token": token });
  expect(fired?.["x-cron-time"]).toMatch(/:00\+00:00$/);
  const found = async (query: string) =>
    (await controlPlane.readLogs(principalOf("acme"), { deployment_name: "app", query }))._unsafeUnwrap().logs;
  await eventually(async () => expect(await found('jsonPayload.event="cron" jsonPayload.status=204')).toHaveLength(1));
  expect(await found('httpRequest.requestUrl:"/cron" httpRequest.status=204')).toHaveLength(1);
  const [listed] = (await controlPlane.listDeployments(principalOf("acme")))._unsafeUnwrap();
  expect(listed?.cron?.last).toEqual({ fire_id: null, at: fired?.["x-cron-time"], status: 204, attempts: 1 });
  const again = await deploy(nodeContractSources.files());
  expect(again.map(({ message }) => message)).toContain("Schedule removed");
  expect(await (await fetch(`${url}/env?name=CRON_TOKEN`)).text()).toBe(token);
  const service = { name: "app" as never, owner: principalOf("acme").account };
  expect((await local.provider.scheduler.find(service))._unsafeUnwrap()).toBeNull();
});

test("a fire starts a service at zero", async () => {
  const clock = shiftedClock(createSystemClock());
  platform = await startLocal({ runner: "process", idle: "stop", idleSeconds: 0.2 }, {}, { clock });
  const { up, controlPlane } = platform;
  await up(nodeContractSources.files(), { schedule: "* * * * *" });
  const count = async (query: string) =>
    (await controlPlane.readLogs(principalOf("acme"), { deployment_name: "app", query }))._unsafeUnwrap().logs.length;
  await eventually(async () => expect(await count('jsonPayload.event="idle"')).toBe(1));
  nearMinute(clock);
  await eventually(async () => expect(await count('jsonPayload.event="cron" jsonPayload.status=204')).toBe(1));
});
