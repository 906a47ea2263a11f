/** The order of a deploy's records as a state machine: it accepts exactly the sequences of contract 4.1. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  advance,
  building,
  type DeployPhase,
  type DeployStatus,
  deployEventSchema,
  deploying,
  done,
  failed,
  isLastDeploy,
} from "../../../../core/domain/deploy/events.ts";
import { isFinal } from "../../../../core/domain/deploy/outcome.ts";
import { runs } from "../../../support/vitest/runs.ts";

test.each([
  [null, true],
  ["crashed", true],
  ["superseded", false],
  ["deleted", false],
  ["name_taken", false],
] as const)(
  "a deploy that ends with the reason %s replaces the outcome of a different deploy: %s",
  (reason, replaces) => {
    const next = { deployId: "first", status: "ERROR", reason, finishedAt: null } as const;
    expect(isLastDeploy({ deployId: "second" }, next)).toBe(replaces);
    expect(isLastDeploy({ deployId: "first" }, next)).toBe(true);
    expect(isLastDeploy(null, next)).toBe(true);
  },
);

const walk = (statuses: readonly DeployStatus[]): DeployPhase | undefined =>
  statuses.reduce<DeployPhase | undefined>((phase, status) => phase && advance(phase, status), "begun");

test.each<[DeployStatus[], DeployPhase | undefined]>([
  [[], "begun"],
  [["BUILDING"], "building"],
  [["BUILDING", "BUILDING", "ERROR"], "ended"],
  [["BUILDING", "DEPLOYING", "DONE"], "ended"],
  [["BUILDING", "DEPLOYING", "DEPLOYING", "ERROR"], "ended"],
  [["DEPLOYING"], "deploying"],
  [["DEPLOYING", "DONE"], "ended"],
  [["ERROR"], undefined],
  [["BUILDING", "DONE"], undefined],
  [["BUILDING", "DEPLOYING", "BUILDING"], undefined],
  [["BUILDING", "ERROR", "ERROR"], undefined],
  [["BUILDING", "DEPLOYING", "DONE", "DEPLOYING"], undefined],
])("%j leads to %s", (statuses, phase) => expect(walk(statuses)).toBe(phase));

test("accepts exactly the streams BUILDING+ ERROR and BUILDING* DEPLOYING+ (DONE | ERROR)", () => {
  const letters: Readonly<Record<DeployStatus, string>> = { BUILDING: "b", DEPLOYING: "d", DONE: "D", ERROR: "E" };
  const statuses = fc.array(
    fc.constantFrom<DeployStatus>("BUILDING", "BUILDING", "DEPLOYING", "DEPLOYING", "DONE", "ERROR"),
    {
      maxLength: 6,
    },
  );
  fc.assert(
    fc.property(statuses, (all) => {
      const word = all.map((status) => letters[status]).join("");
      expect(walk(all) === "ended").toBe(/^(?:b+E|b*d+[DE])$/.test(word));
    }),
    runs(1000),
  );
});

test("only DONE and ERROR end a stream", () => {
  expect((["BUILDING", "DEPLOYING", "DONE", "ERROR"] as const).filter(isFinal)).toEqual(["DONE", "ERROR"]);
});

describe("records", () => {
  const place = { time: "2026-01-01T00:00:00+00:00", deploy_id: "d", seq: 1 };

  test.each([
    building("Installing"),
    deploying("Created new volume 'data'", { volume: "data" }),
    done("https://app.example", "Done"),
    failed({ reason: "crashed", message: "It crashed", exitCode: 1, logTail: ["boom"] }),
  ])("$status is unchanged on the wire", (news) => {
    expect(deployEventSchema.parse({ ...place, ...news })).toEqual({ ...place, ...news });
  });

  test("a failure contains only known fields", () => {
    expect(failed({ reason: "internal", message: "A bug" })).toEqual({
      status: "ERROR",
      message: "A bug",
      reason: "internal",
    });
    expect(failed({ reason: "crashed", message: "x", logTail: [] })).not.toHaveProperty("log_tail");
    expect(failed({ reason: "exited", message: "x", exitCode: 0 })).toHaveProperty("exit_code", 0);
  });
});
