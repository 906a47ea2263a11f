/** What a platform lacks is said with what mends it, and keeps it from starting; a warning does not. */
import { expect, test } from "vitest";
import { fail, pass, refusalToStart, warn } from "../../../../core/domain/wire/check.ts";

test("a platform that lacks nothing may start, warnings or not", () => {
  expect(refusalToStart([])).toBeUndefined();
  expect(refusalToStart([pass("disk", "it is there"), warn("quota", "it is nearly used up")])).toBeUndefined();
});

test("everything that is missing is named at once, each with what mends it where something does", () => {
  const findings = [
    fail("credentials", "there are none", "gcloud auth application-default login"),
    pass("region", "it is known"),
    warn("quota", "it is nearly used up", "ask for more"),
    fail("network", "it is not there"),
  ];
  expect(refusalToStart(findings)).toBe(
    [
      "The platform cannot work as it is set up:",
      "  credentials: there are none",
      "    gcloud auth application-default login",
      "  network: it is not there",
    ].join("\n"),
  );
});

test("what nothing mends has no command", () => {
  expect(warn("quota", "it cannot be looked up")).toEqual({
    what: "quota",
    verdict: "warning",
    words: "it cannot be looked up",
  });
  expect(pass("disk", "it is there")).toEqual({ what: "disk", verdict: "ok", words: "it is there" });
  expect(fail("network", "none", "make one")).toEqual({
    what: "network",
    verdict: "missing",
    words: "none",
    fix: "make one",
  });
});
