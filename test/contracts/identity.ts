/**
 * The contract suite of `Authenticator`, `ApiKeys`, `TokenIssuer` and `Sessions`, which one identity adapter implements
 * together.
 */
import { expect } from "vitest";
import { type Instant, parseInstant, type Timestamp } from "../../core/domain/wire/instant.ts";
import type { ApiKey } from "../../core/ports/authenticator.ts";
import type { ContractCase, IdentitySubject } from "./harness.ts";
import { sessionCases } from "./sessions.ts";
import { expectError, expectOk } from "./support.ts";

type Case = ContractCase<IdentitySubject>;

/** The maximum wait for the write of `lastUsedAt`; longer than any adapter needs. */
const NOTED_MS = 30_000;

const apiKey = (value: string) => ({ kind: "api_key", value }) as const;
const bearer = (value: string) => ({ kind: "bearer", value }) as const;

/** The contract suite of an identity adapter. */
export const identityCases: readonly Case[] = [
  {
    group: "keys",
    name: "a new key has the contract's format and authenticates its account immediately",
    run: async ({ identity, account }) => {
      const owner = account();
      const made = await expectOk(identity.keys.create(owner, "a label"));
      expect(made.key).toMatch(/^psk_[A-Za-z0-9]{40}$/);
      expect(made.key.startsWith(made.prefix)).toBe(true);
      expect(await expectOk(identity.authenticator.authenticate(apiKey(made.key)))).toEqual({
        account: owner,
        credentialId: made.id,
        credentialKind: "key",
      });
    },
  },
  {
    group: "keys",
    name: "keys are listed oldest first, by prefix, without their secret part",
    run: async ({ identity, account }) => {
      const owner = account();
      const made = [];
      for (const label of ["first", "second"]) made.push(await expectOk(identity.keys.create(owner, label)));
      const listed = await expectOk(identity.keys.list(owner));
      expect(listed.map(({ label }) => label)).toEqual(["first", "second"]);
      for (const { key } of made) expect(JSON.stringify(listed)).not.toContain(key.slice(16));
    },
  },
  {
    group: "keys",
    name: "a revoked key no longer authenticates and is not listed",
    run: async ({ identity, account }) => {
      const owner = account();
      const { id, key } = await expectOk(identity.keys.create(owner, "short-lived"));
      await expectOk(identity.authenticator.authenticate(apiKey(key)));
      await expectOk(identity.keys.revoke(owner, id));
      expect((await expectError(identity.authenticator.authenticate(apiKey(key)))).kind).toBe("unauthenticated");
      expect(await expectOk(identity.keys.list(owner))).toEqual([]);
      expect((await expectError(identity.keys.revoke(owner, id))).kind).toBe("not_found");
    },
  },
  {
    group: "keys",
    name: "revoking another account's key fails with not_found and changes nothing",
    run: async ({ identity, account }) => {
      const { id, key } = await expectOk(identity.keys.create(account(), "mine"));
      expect((await expectError(identity.keys.revoke(account(), id))).kind).toBe("not_found");
      await expectOk(identity.authenticator.authenticate(apiKey(key)));
    },
  },
  {
    group: "concurrency",
    name: "concurrently created keys are distinct, and each authenticates the account",
    run: async ({ identity, account }) => {
      const owner = account();
      const labels = Array.from({ length: 20 }, (_, index) => `key ${index}`);
      const made = await Promise.all(labels.map((label) => expectOk(identity.keys.create(owner, label))));
      expect(new Set(made.map(({ id }) => id)).size).toBe(labels.length);
      expect(new Set(made.map(({ key }) => key)).size).toBe(labels.length);
      const listed = await expectOk(identity.keys.list(owner));
      expect(listed.map(({ label }) => label).sort()).toEqual(labels.sort());
      for (const { id, key } of made)
        expect(await expectOk(identity.authenticator.authenticate(apiKey(key)))).toEqual({
          account: owner,
          credentialId: id,
          credentialKind: "key",
        });
    },
  },
  {
    group: "use",
    name: "lastUsedAt is set soon after a key is used, and null before",
    run: async ({ identity, account }) => {
      const owner = account();
      const { id, key } = await expectOk(identity.keys.create(owner, "used"));
      const unused = await expectOk(identity.keys.create(owner, "unused"));
      await expectOk(identity.authenticator.authenticate(apiKey(key)));
      const find = async (wanted: string) =>
        (await expectOk(identity.keys.list(owner))).find((listed) => listed.id === wanted) as ApiKey;
      // The response does not wait for the write of lastUsedAt.
      await expect.poll(async () => (await find(id)).lastUsedAt, { timeout: NOTED_MS }).not.toBeNull();
      const { createdAt, lastUsedAt } = await find(id);
      expect(parseInstant(lastUsedAt as Timestamp)).toBeGreaterThanOrEqual(parseInstant(createdAt) as Instant);
      expect((await find(unused.id)).lastUsedAt).toBeNull();
    },
  },
  {
    group: "refusals",
    name: "a wrong or malformed key fails with unauthenticated, and the message does not contain it",
    run: async ({ identity, account }) => {
      const { key } = await expectOk(identity.keys.create(account(), "right"));
      const flipped = key.slice(0, -1) + (key.endsWith("a") ? "b" : "a");
      for (const wrong of [flipped, "", "psk_", "x".repeat(44), `${key} `, key.toLowerCase()]) {
        if (wrong === key) continue;
        const refused = await expectError(identity.authenticator.authenticate(apiKey(wrong)));
        expect(refused.kind).toBe("unauthenticated");
        if (wrong.length > 4) expect(refused.message).not.toContain(wrong);
      }
    },
  },
  {
    group: "tokens",
    name: "an issued token authenticates its account as a bearer token, not as a key",
    run: async ({ identity, account }) => {
      const owner = account();
      const issued = await identity.tokens.issue({ account: owner, credentialId: "test" });
      if (issued.isErr()) return expect(issued.error.kind).toBe("unsupported");
      const { token } = issued.value;
      expect((await expectOk(identity.authenticator.authenticate(bearer(token)))).account).toBe(owner);
      expect((await expectError(identity.authenticator.authenticate(apiKey(token)))).kind).toBe("unauthenticated");
      // Change the middle of the signature: the last character has unused bits.
      const at = token.lastIndexOf(".") + 10;
      const tampered = token.slice(0, at) + (token[at] === "A" ? "B" : "A") + token.slice(at + 1);
      expect((await expectError(identity.authenticator.authenticate(bearer(tampered)))).kind).toBe("unauthenticated");
      return undefined;
    },
  },
  {
    group: "minted tokens",
    name: "a token issued by a key has the kind platform_token, and becomes invalid with the key",
    run: async ({ identity, account }) => {
      const owner = account();
      const [kept, revoked] = [
        await expectOk(identity.keys.create(owner, "kept")),
        await expectOk(identity.keys.create(owner, "revoked")),
      ];
      const issueBy = async (key: string) =>
        identity.tokens.issue(await expectOk(identity.authenticator.authenticate(apiKey(key))));
      const [others, own] = [await issueBy(kept.key), await issueBy(revoked.key)];
      if (own.isErr() || others.isErr()) return expect(own.isErr() && own.error.kind).toBe("unsupported");
      const principal = await expectOk(identity.authenticator.authenticate(bearer(own.value.token)));
      expect(principal).toMatchObject({ account: owner, credentialKind: "platform_token" });
      await expectOk(identity.keys.revoke(owner, revoked.id));
      await expect
        .poll(
          async () => {
            const answer = await identity.authenticator.authenticate(bearer(own.value.token));
            return answer.isErr() ? answer.error.kind : "accepted";
          },
          { timeout: NOTED_MS },
        )
        .toBe("unauthenticated");
      await expectOk(identity.authenticator.authenticate(bearer(others.value.token)));
      return undefined;
    },
  },
  ...sessionCases,
];
