/** The account of a token's user: always in the issuer's namespace, never a key account, never another user's. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { accountFromClaim, issuerAlias } from "../../../../adapters/jwt/index.ts";
import { isKeyAccount, parseAccount } from "../../../../core/domain/accounts/account.ts";
import { character } from "../../../arbitraries/index.ts";
import { runs } from "../../../support/vitest/runs.ts";

const accountOf = (value: unknown, alias = "id.example", claim = "sub") =>
  accountFromClaim(alias, claim)({ [claim]: value } as never);

describe("user names", () => {
  test.each(["user-1", "auth0|5f7c8ec7c33c6c004bbafe82", "ada@example.com", "a.b_c+d@x", "org/team/user", "0"])(
    "%j is used unchanged",
    (value) => {
      expect(accountOf(value)).toBe(`id.example:${value}`);
    },
  );

  test.each([undefined, null, "", 1, true, {}, [], ["user-1"], "\ud800"])("%j gives no account", (value) => {
    expect(accountOf(value)).toBeUndefined();
  });

  test("ignores properties of the claims' prototype", () => {
    expect(accountFromClaim("id.example", "toString")({})).toBeUndefined();
    expect(accountFromClaim("id.example", "__proto__")({})).toBeUndefined();
  });

  test("the configured claim replaces the subject", () => {
    expect(accountFromClaim("id.example", "tenant")({ sub: "user-1", tenant: "acme" })).toBe("id.example:acme");
    expect(accountFromClaim("id.example", "tenant")({ sub: "user-1" })).toBeUndefined();
  });

  test("rejects a long name instead of truncating it", () => {
    expect(accountOf("x".repeat(300))).toBeUndefined();
  });
});

describe("users are distinct", () => {
  const claim = fc.oneof(
    fc.string({ unit: fc.constantFrom(..."ab:%/|@. é\n\u0000😀"), maxLength: 8 }),
    fc.string({ unit: character(), maxLength: 8 }),
  );
  const alias = fc.constantFrom("id.example", "id.example/a", "id.example:8080", "id.example:8080/a", "a");

  test("two users of any issuers have two accounts", () => {
    const property = fc.property(alias, claim, alias, claim, (aliasA, a, aliasB, b) => {
      const [one, other] = [accountOf(a, aliasA), accountOf(b, aliasB)];
      if (one === undefined || other === undefined) return;
      expect(one === other).toBe(aliasA === aliasB && a === b);
    });
    fc.assert(property, runs(3000));
  });

  test.each([
    ["id.example", "8080/a:bob", "id.example:8080/a", "bob"],
    ["id.example", "a%3Ab", "id.example", "a:b"],
    ["id.example", "a b", "id.example", "a%20b"],
  ])("%s with %j is not %s with %j", (aliasA, a, aliasB, b) => {
    const [one, other] = [accountOf(a, aliasA), accountOf(b, aliasB)];
    if (one !== undefined || other !== undefined) expect(one).not.toBe(other);
  });

  test("an account from any claim has a valid name, and is never a key account", () => {
    const property = fc.property(alias, claim, (from, value) => {
      const account = accountOf(value, from);
      if (account === undefined) return;
      expect(isKeyAccount(account)).toBe(false);
      expect(account.startsWith(`${from}:`)).toBe(true);
      expect(parseAccount(account)).toBe(account);
    });
    fc.assert(property, runs(1000));
  });
});

test("an issuer is named by its host and path", () => {
  expect(issuerAlias("https://id.example/")).toBe("id.example");
  expect(issuerAlias("https://id.example:8443/realms/x")).toBe("id.example:8443/realms/x");
});
