/** Account names, and who may touch what stands under a name. */
import { describe, expect, test } from "vitest";
import { type AccountId, isKeyAccount, mayUse, parseAccount } from "../../../../core/domain/accounts/account.ts";

const [acme, other] = ["acme", "other"] as [AccountId, AccountId];

test.each(["acme", "a", "corp:user-1", "corp:a@b.example", "0|x/y+z", "a".repeat(255)])("'%s' is an account", (text) =>
  expect(parseAccount(text)).toBe(text),
);

test.each(["", " acme", "acme ", "-acme", ":acme", "a b", "a\n", "é", "a".repeat(256)])("%j is none", (text) =>
  expect(parseAccount(text)).toBeUndefined(),
);

test("an account made by hand has no colon, so that no token's user can be it", () => {
  expect(isKeyAccount(acme)).toBe(true);
  expect(isKeyAccount("corp:acme" as AccountId)).toBe(false);
});

describe("mayUse", () => {
  test("what nobody has, anybody may use", () => expect(mayUse(acme, { kind: "free" })).toBe(true));

  test.each(["held", "reserved"] as const)("what is %s, its owner alone", (kind) => {
    expect(mayUse(acme, { kind, owner: acme })).toBe(true);
    expect(mayUse(acme, { kind, owner: other })).toBe(false);
  });
});
