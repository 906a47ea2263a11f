/** The states of a domain, over any sequence of checks and mappings. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { type DomainStatus, domainQuotaProblem, newDomain } from "../../../../core/domain/domains/domain.ts";
import { afterCheck, type CheckOutcome, mapTo, mayTakeOver } from "../../../../core/domain/domains/domain-check.ts";
import type { DomainName } from "../../../../core/domain/domains/domain-name.ts";
import type { Timestamp } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";

const time = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, "0")}+00:00` as Timestamp;
const created = newDomain("app.example.com" as DomainName, "acme" as AccountId, "app" as DeploymentName, time(0));

const outcome = (): fc.Arbitrary<CheckOutcome> =>
  fc.oneof(
    fc.constant<CheckOutcome>({ kind: "no_response" }),
    fc
      .array(fc.string({ minLength: 1 }), { maxLength: 3 })
      .map((problems): CheckOutcome => ({ kind: "found", problems })),
  );

/** The status that the contract prescribes after these outcomes. */
const expectedStatus = (outcomes: readonly CheckOutcome[]): DomainStatus => {
  const answers = outcomes.filter((one) => one.kind === "found");
  const wasActive = answers.some(({ problems }) => problems.length === 0);
  if (!wasActive) return "pending";
  return answers.at(-1)?.problems.length === 0 ? "active" : "failing";
};

describe("a domain", () => {
  test("is pending until a check succeeds, then active or failing by the last response", () => {
    fc.assert(
      fc.property(fc.array(outcome(), { maxLength: 12 }), (outcomes) => {
        const checked = outcomes.reduce((domain, one, at) => afterCheck(domain, one, time(at + 1)), created);
        expect(checked.status).toBe(expectedStatus(outcomes));
        expect(checked.checkedAt).toBe(outcomes.length === 0 ? null : time(outcomes.length));
        expect(checked).toMatchObject({ domain: created.domain, owner: created.owner, createdAt: created.createdAt });
      }),
    );
  });

  test("has every problem of the last check in its detail", () => {
    const { detail } = afterCheck(created, { kind: "found", problems: ["One.", "Two."] }, time(1));
    expect(detail).toBe("One. Two.");
  });

  test("has a detail that says when its servers did not respond, and how to continue", () => {
    const { detail } = afterCheck(created, { kind: "no_response" }, time(1));
    expect(detail).toBe(
      "The DNS servers of 'app.example.com' did not respond, or responded with an error. Check the domain again.",
    );
  });

  test("takes the outcome of a check after the correction of a clock that was ahead", () => {
    const ahead = afterCheck(created, { kind: "found", problems: ["Old."] }, "2027-01-01T00:00:00+00:00" as Timestamp);
    expect(afterCheck(ahead, { kind: "found", problems: [] }, time(1))).toMatchObject({
      status: "active",
      checkedAt: time(1),
    });
  });

  test("keeps the outcome of the check that began last", () => {
    const active = afterCheck(created, { kind: "found", problems: [] }, time(2));
    expect(afterCheck(active, { kind: "found", problems: ["Old."] }, time(1))).toBe(active);
    const precise = "2026-01-01T00:00:02.000001+00:00" as Timestamp;
    expect(afterCheck(active, { kind: "found", problems: ["New."] }, precise).status).toBe("failing");
  });

  test("keeps its status when it moves to another deployment", () => {
    const active = afterCheck(created, { kind: "found", problems: [] }, time(1));
    const other = "other" as DeploymentName;
    expect(mapTo(active, other)).toEqual({
      ...active,
      name: "other",
      detail: "Requests to 'app.example.com' reach 'other'.",
    });
    expect(mapTo(created, other)).toEqual({ ...created, name: "other" });
  });
});

test("an account takes a domain over only with its own proof, and without the proof of the owner", () => {
  const proofs = { present: "theirs", next: "mine" };
  expect(mayTakeOver(["mine"], proofs)).toBe(true);
  expect(mayTakeOver(["other", "mine"], proofs)).toBe(true);
  for (const found of [[], ["theirs"], ["mine", "theirs"], ["other"]])
    expect(mayTakeOver(found, proofs), found.join()).toBe(false);
});

test("the quota is the maximum number of domains", () => {
  expect(domainQuotaProblem(50, 50)).toBeUndefined();
  expect(domainQuotaProblem(51, 50)).toBe("your account may have at most 50 domains; remove one first");
});
