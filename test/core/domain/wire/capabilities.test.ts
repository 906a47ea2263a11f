/** Capability records are data: they survive JSON, and what is not offered answers with its own reason. */
import { expect, test } from "vitest";
import { memoryCapabilities } from "../../../../adapters/memory/capabilities.ts";
import { capabilitiesSchema, missing, offered, refusal } from "../../../../core/domain/wire/capabilities.ts";
import { fullCapabilities, minimalCapabilities } from "../../../support/providers/capabilities.ts";

test.each(Object.entries({ memoryCapabilities, everything: fullCapabilities, nothingMuch: minimalCapabilities }))(
  "%s is a valid record",
  (_name, record) => {
    expect(capabilitiesSchema.parse(JSON.parse(JSON.stringify(record)))).toEqual(record);
  },
);

test("a gap without a reason is not a record", () => {
  expect(capabilitiesSchema.safeParse({ ...fullCapabilities, sql: { supported: false } }).success).toBe(false);
});

test("an offer may have a note", () => {
  expect(offered()).toEqual({ supported: true });
  expect(offered("best effort")).toEqual({ supported: true, note: "best effort" });
});

test("what is not offered is refused in the provider's words, what is offered is not", () => {
  expect(refusal(missing("no SQL here"))).toEqual({ kind: "unsupported", message: "no SQL here" });
  expect(refusal(offered())).toBeUndefined();
});
