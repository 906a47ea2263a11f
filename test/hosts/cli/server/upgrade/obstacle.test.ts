import { expect, test } from "vitest";
import { upgradeObstacle } from "../../../../../hosts/cli/server/upgrade/obstacle.ts";

test.for([
  ["the first process of a container", { pid: 1, env: {} }, "container"],
  ["the main process of a unit without Type=notify", { pid: 7, env: { SYSTEMD_EXEC_PID: "7" } }, "Type=notify"],
] as const)("%s cannot be replaced", ([, process, message]) => {
  expect(upgradeObstacle(process)).toContain(message);
});

test.for([
  ["a process of a shell", {}],
  ["the main process of a unit with Type=notify", { SYSTEMD_EXEC_PID: "7", NOTIFY_SOCKET: "/run/systemd/notify" }],
  ["a process of another unit's shell", { SYSTEMD_EXEC_PID: "3" }],
] as const)("%s can be replaced", ([, env]) => {
  expect(upgradeObstacle({ pid: 7, env })).toBeUndefined();
});
