/** Outages, refusals and quota violations of Google Cloud as failures of a deploy. */
import { expect, test } from "vitest";
import { failureOfQuota, failureOfUnavailable } from "../../../adapters/gcp/failures.ts";
import { unavailable } from "../../../core/errors.ts";

const MAXIMUM = "Max instances must be set to 2 or fewer to set the requested total CPU.";
const CPU = "CpuAllocPerProjectRegion requested: 32000 allowed: 20000";
const MEMORY = "MemAllocPerProjectRegion requested: 257698037760 allowed: 42949672960";

test.each([
  [
    `${MAXIMUM}\n\nQuota violated:\n${CPU}`,
    "(32 CPU requested, 20 CPU allowed). Declare max_instances 2 or less, or less",
  ],
  [
    `Quota violated:\n${CPU}\n${MEMORY}`,
    "(32 CPU requested, 20 CPU allowed; 240Gi of memory requested, 40Gi of memory allowed). Declare less CPU",
  ],
  // A single instance already exceeds the quota.
  [MAXIMUM.replace("2", "0"), "quota. Declare less CPU or memory."],
  [
    "Quota violated:\nGpuAllocPerProjectRegion requested: 4 allowed: 3",
    "4 of GpuAlloc requested, 3 of GpuAlloc allowed",
  ],
  ["For the specified value, maxScale may not exceed 10.", "quota. Declare max_instances 10 or less, or less CPU"],
])("the quota violation %j", (text, message) => {
  expect(failureOfQuota(text)).toMatchObject({
    reason: "quota_exceeded",
    message: expect.stringContaining(message),
  });
});

test("a different rejection is not a quota violation", () => {
  expect(failureOfQuota("template.containers[0].image: is required")).toBeUndefined();
});

test.each([
  [8, "quota_exceeded"],
  [429, "quota_exceeded"],
  [7, "permission"],
  [14, "provider_unavailable"],
])("an outage with code %i is %s", (code, reason) => {
  const cause = Object.assign(new Error("words"), { code });
  expect(failureOfUnavailable(unavailable("words", 5, cause))).toMatchObject({ reason });
});
