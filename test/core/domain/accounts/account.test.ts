/** Account names, and which account may use a name. */
import { describe, expect, test } from "vitest";
import { type AccountId, isKeyAccount, mayUse, parseAccount } from "../../../../core/domain/accounts/account.ts";

const [acme, other] = ["acme", "other"] as [AccountId, AccountId];

test.each(["acme", "a", "corp:user-1", "corp:a@b.example", "0|x/y+z", "a".repeat(255)])("accepts '%s'", (text) =>
  expect(parseAccount(text)).toBe(text),
);

test.each(["", " acme", "acme ", "-acme", ":acme", "a b", "a\n", "é", "a".repeat(256)])("rejects %j", (text) =>
  expect(parseAccount(text)).toBeUndefined(),
);

test("an account with API keys has no colon, so it cannot equal a user of an identity provider", () => {
  expect(isKeyAccount(acme)).toBe(true);
  expect(isKeyAccount("corp:acme" as AccountId)).toBe(false);
});

describe("mayUse", () => {
  test("any account may use an unowned name", () => expect(mayUse(acme, { kind: "free" })).toBe(true));

  test.each(["held", "reserved"] as const)("only the owner may use a name that is %s", (kind) => {
    expect(mayUse(acme, { kind, owner: acme })).toBe(true);
    expect(mayUse(acme, { kind, owner: other })).toBe(false);
  });
});
