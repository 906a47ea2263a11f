/** Capability records are data: they survive JSON, and an unsupported feature returns its own reason. */
import { expect, test } from "vitest";
import { memoryCapabilities } from "../../../../adapters/memory/capabilities.ts";
import { capabilitiesSchema, missing, offered, refusal } from "../../../../core/domain/wire/capabilities.ts";
import { fullCapabilities, minimalCapabilities } from "../../../support/providers/capabilities.ts";

test.each(Object.entries({ memory: memoryCapabilities, full: fullCapabilities, minimal: minimalCapabilities }))(
  "the %s capabilities are a valid record",
  (_name, record) => {
    expect(capabilitiesSchema.parse(JSON.parse(JSON.stringify(record)))).toEqual(record);
  },
);

test("rejects a missing feature without a reason", () => {
  expect(capabilitiesSchema.safeParse({ ...fullCapabilities, sql: { supported: false } }).success).toBe(false);
});

test("a supported feature may have a note", () => {
  expect(offered()).toEqual({ supported: true });
  expect(offered("best effort")).toEqual({ supported: true, note: "best effort" });
});

test("returns the provider's reason for an unsupported feature only", () => {
  expect(refusal(missing("no SQL here"))).toEqual({ kind: "unsupported", message: "no SQL here" });
  expect(refusal(offered())).toBeUndefined();
});
