/** A failed check prevents the start, and its message has the fix. A warning does not prevent the start. */
import { expect, test } from "vitest";
import { fail, pass, refusalToStart, warn } from "../../../../core/domain/wire/check.ts";

test("a platform without failures starts, with or without warnings", () => {
  expect(refusalToStart([])).toBeUndefined();
  expect(refusalToStart([pass("disk", "it is there"), warn("quota", "it is nearly used up")])).toBeUndefined();
});

test("reports all failures together, each with its fix if it has one", () => {
  const findings = [
    fail("credentials", "there are none", "gcloud auth application-default login"),
    pass("region", "it is known"),
    warn("quota", "it is nearly used up", "ask for more"),
    fail("network", "it does not exist"),
  ];
  expect(refusalToStart(findings)).toBe(
    [
      "The platform cannot start with its current setup:",
      "  credentials: there are none",
      "    gcloud auth application-default login",
      "  network: it does not exist",
    ].join("\n"),
  );
});

test("a finding has a fix only if one is given", () => {
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
