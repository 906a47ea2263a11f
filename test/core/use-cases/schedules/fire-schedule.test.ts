/** Fires that a client requests. */
import { expect, test } from "vitest";
import { missing, offered } from "../../../../core/domain/wire/capabilities.ts";
import { deployed, type MemoryPlatform, startMemory } from "../../../support/providers/memory-platform.ts";

const fire = ({ controlPlane, principal }: MemoryPlatform) => controlPlane.fireSchedule(principal(), { name: "app" });

test("starts a fire, whose outcome is in the deployment and in the log under its id", async () => {
  const platform = startMemory();
  await deployed(platform, { schedule: "0 9 * * *" });
  const { fire_id } = (await fire(platform))._unsafeUnwrap();
  const { controlPlane, principal } = platform;
  const details = (await controlPlane.getDeployment(principal(), { name: "app" }))._unsafeUnwrap();
  expect(details.cron?.last).toMatchObject({ fire_id, status: null, attempts: 1 });
  const query = `jsonPayload.event="cron" AND jsonPayload.fire_id="${fire_id}"`;
  const { logs } = (await controlPlane.readLogs(principal(), { deployment_name: "app", query }))._unsafeUnwrap();
  expect(logs.map(({ severity }) => severity)).toEqual(["ERROR"]);
  expect((await fire(platform))._unsafeUnwrap().fire_id).not.toBe(fire_id);
});

test("is refused without a schedule, without a deployment and without the capability", async () => {
  const platform = startMemory();
  expect((await fire(platform))._unsafeUnwrapErr().kind).toBe("not_found");
  await deployed(platform, { schedule: "0 9 * * *" });
  await deployed(platform);
  expect((await fire(platform))._unsafeUnwrapErr()).toMatchObject({
    kind: "conflict",
    message: "The deployment 'app' has no schedule. Declare one with the field 'schedule', and deploy again.",
  });
  const cron = { schedules: offered(), fire: missing("fires only on time"), max_seconds: 60 };
  const without = startMemory({ capabilities: { cron } });
  await deployed(without, { schedule: "0 9 * * *" });
  expect((await fire(without))._unsafeUnwrapErr()).toMatchObject({
    kind: "unsupported",
    message: "fires only on time",
  });
});
