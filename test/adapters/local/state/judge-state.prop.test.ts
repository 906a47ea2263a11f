/** The verdict on a state, for all evidence that a start may find. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { judgeState, knownGeneration, type StateEvidence } from "../../../../adapters/local/state/judge-state.ts";
import { parseVersion, renderVersion, type StateVersion } from "../../../../adapters/local/state/version.ts";
import { runs } from "../../../support/vitest/runs.ts";

const version: fc.Arbitrary<StateVersion> = fc.record({
  generation: fc.nat({ max: 4 }),
  digest: fc.constantFrom("a", "b").map((digit) => digit.repeat(64)),
});

const findings: fc.Arbitrary<StateEvidence> = fc.record({
  state: fc.oneof(
    fc.constantFrom({ kind: "missing" } as const, { kind: "empty" } as const),
    fc.record({ kind: fc.constant("unreadable" as const), problem: fc.constant("malformed") }),
    fc.record({ kind: fc.constant("altered" as const), generation: fc.nat({ max: 4 }) }),
    fc.record({ kind: fc.constant("whole" as const), version: fc.option(version, { nil: undefined }) }),
  ),
  check: fc.oneof(
    fc.constantFrom(
      { found: "missing", version: undefined } as const,
      { found: "damaged", version: undefined } as const,
    ),
    fc.record({ found: fc.constant("whole" as const), version }),
  ),
  copy: fc.option(version, { nil: undefined }),
  unknownVolumes: fc.nat({ max: 2 }),
  recordedVolumes: fc.nat({ max: 2 }),
  remains: fc.subarray(["volumes", "images"]),
});
/** Volumes with a record are a subset of the unknown ones. */
const evidence = findings.map((found) => ({
  ...found,
  recordedVolumes: Math.min(found.recordedVolumes, found.unknownVolumes),
}));

test("accepts a state only if it is complete and nothing in the folder is newer", () => {
  fc.assert(
    fc.property(evidence, (found) => {
      if (judgeState(found).kind !== "good") return;
      const { state, check } = found;
      expect(state.kind).toBe("whole");
      const own = state.kind === "whole" ? state.version : undefined;
      expect(own?.generation ?? 0).toBeGreaterThanOrEqual(knownGeneration(found));
      if (own !== undefined && own.generation === check.version?.generation)
        expect(own.digest).toBe(check.version.digest);
      if (check.version === undefined) expect(found.unknownVolumes).toBe(0);
      else expect(found.recordedVolumes).toBe(0);
    }),
    runs(2000),
  );
});

test("reports a fresh folder only without remains of an earlier run", () => {
  fc.assert(
    fc.property(evidence, (found) => {
      const nothing = found.check.found === "missing" && found.copy === undefined && found.remains.length === 0;
      const isAbsent = ["missing", "empty"].includes(found.state.kind);
      expect(judgeState(found).kind === "fresh").toBe(isAbsent && nothing);
    }),
    runs(2000),
  );
});

test("refuses with a message, and accepts everything but an unreadable state with acceptState", () => {
  fc.assert(
    fc.property(evidence, (found) => {
      const verdict = judgeState(found);
      if (verdict.kind !== "refused") return;
      expect(verdict.isAcceptable).toBe(found.state.kind !== "unreadable");
      expect(verdict.problem).toMatch(/^(is|has|does not) /);
    }),
    runs(2000),
  );
});

test("parses a rendered version, and rejects one with a changed character", () => {
  fc.assert(
    fc.property(version, fc.nat(), fc.constantFrom(..."0123456789abcdefx "), (one, at, character) => {
      const text = renderVersion(one);
      expect(parseVersion(text)).toEqual(one);
      const changed = [...text].toSpliced(at % text.length, 1, character).join("");
      if (changed !== text) expect(parseVersion(changed)).toBeUndefined();
    }),
    runs(500),
  );
});
