/** The rule of conditional writes as a complete table of expected and actual states. */
import { expect, test } from "vitest";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { Expected } from "../../../../core/domain/deploy/plan.ts";
import { type DeployReason, deployReasons, isLost } from "../../../../core/domain/deploy/reason.ts";
import { type Present, writeConflict } from "../../../../core/domain/volumes/write-condition.ts";

const [me, other] = ["acme", "other"] as [AccountId, AccountId];
const seen: Expected = { etag: "1", owner: me };

test.each<[string, Expected, Present, string | undefined]>([
  ["expects no service, finds none", "absent", { kind: "free" }, undefined],
  ["expects no service, finds my own freed name", "absent", { kind: "reserved", owner: me }, undefined],
  [
    "expects no service, finds another account's freed name",
    "absent",
    { kind: "reserved", owner: other },
    "name_taken",
  ],
  ["expects no service, finds mine", "absent", { kind: "held", owner: me, etag: "1" }, "superseded"],
  ["expects no service, finds another account's", "absent", { kind: "held", owner: other, etag: "1" }, "name_taken"],
  ["expects my service, finds it unchanged", seen, { kind: "held", owner: me, etag: "1" }, undefined],
  ["expects my service, finds it changed", seen, { kind: "held", owner: me, etag: "2" }, "superseded"],
  ["expects my service, finds another account's", seen, { kind: "held", owner: other, etag: "1" }, "name_taken"],
  ["expects my service, finds none", seen, { kind: "free" }, "deleted"],
  ["expects my service, finds my freed name", seen, { kind: "reserved", owner: me }, "deleted"],
  ["expects my service, finds another account's freed name", seen, { kind: "reserved", owner: other }, "name_taken"],
])("%s", (_case, expected, present, reason) => {
  const lost = writeConflict(me, expected, present);
  expect(lost?.reason).toBe(reason);
  if (reason !== undefined) expect(lost?.message).toMatch(/\.$/);
});

test("the error for the losing write does not name the winner", () => {
  const lost = writeConflict(me, "absent", { kind: "held", owner: "secret-corp" as AccountId, etag: "1" });
  expect(JSON.stringify(lost)).not.toContain("secret-corp");
});

test("exactly three reasons mean that another write won", () => {
  const reasons = Object.keys(deployReasons) as DeployReason[];
  const lost = reasons.filter((reason) => isLost({ reason }));
  expect(lost.toSorted()).toEqual(["deleted", "name_taken", "superseded"]);
});
