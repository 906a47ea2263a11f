/** The rows of the table of capabilities. */
import { expect, test } from "vitest";
import { capabilityRows } from "../../../../hosts/console/accounts/capability-rows.ts";

test("has a row for each feature with its note or reason, and for each setting", () => {
  const capabilities = {
    provider: "local",
    runs: { supported: false, reason: "nothing runs" },
    volumes: { mounts: { supported: true, note: "as folders" }, visible_seconds: 0 },
    health: { supported: true, ranges: { timeout: { min: 1, max: 9 } }, host: { supported: false, reason: "no host" } },
    names: ["a", "b"],
    limits: { volumes: 9 },
  };
  expect(capabilityRows(capabilities, ["limits"])).toEqual([
    { name: "provider", supported: undefined, text: "local" },
    { name: "runs", supported: false, text: "nothing runs" },
    { name: "volumes.mounts", supported: true, text: "as folders" },
    { name: "volumes.visible_seconds", supported: undefined, text: "0" },
    { name: "health", supported: true, text: "" },
    { name: "health.ranges.timeout.min", supported: undefined, text: "1" },
    { name: "health.ranges.timeout.max", supported: undefined, text: "9" },
    { name: "health.host", supported: false, text: "no host" },
    { name: "names", supported: undefined, text: "a, b" },
  ]);
});
