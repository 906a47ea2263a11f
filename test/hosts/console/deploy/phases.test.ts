/** The phases of a deploy, from its records. */
import { expect, test } from "vitest";
import { phasesOf } from "../../../../hosts/console/deploy/phases.ts";

const START = Date.UTC(2026, 0, 1);
const record = (status: "BUILDING" | "DEPLOYING" | "DONE" | "ERROR", seconds: number) => ({
  status,
  time: new Date(START + seconds * 1000).toISOString(),
});
const at = (seconds: number) => START + seconds * 1000;

test("has one running phase while the build runs", () => {
  expect(phasesOf([record("BUILDING", 0), record("BUILDING", 5)])).toEqual([
    { name: "Build", state: "running", began: at(0), ended: undefined },
  ]);
});

test("ends each phase where the next one begins", () => {
  const records = [record("BUILDING", 0), record("DEPLOYING", 4), record("DEPLOYING", 5), record("DONE", 9)];
  expect(phasesOf(records)).toEqual([
    { name: "Build", state: "done", began: at(0), ended: at(4) },
    { name: "Rollout", state: "done", began: at(4), ended: at(9) },
  ]);
});

test("marks the phase in which the deploy failed", () => {
  expect(phasesOf([record("BUILDING", 0), record("ERROR", 2)])).toEqual([
    { name: "Build", state: "failed", began: at(0), ended: at(2) },
  ]);
});

test("has no build in a rollback", () => {
  expect(phasesOf([record("DEPLOYING", 0), record("DONE", 1)]).map(({ name }) => name)).toEqual(["Rollout"]);
});
