/** The promises of `Authenticator`, `ApiKeys` and `TokenIssuer`, as one identity keeps them together. */
import { expect } from "vitest";
import type { AccountId } from "../../core/domain/account.ts";
import type { Identity } from "../../core/ports/provider.ts";
import type { ContractCase } from "./harness.ts";
import { expectError, expectOk } from "./support.ts";

export interface IdentitySubject {
  readonly identity: Identity;
  /** An account that no case had before. */
  account(): AccountId;
}

type Case = ContractCase<IdentitySubject>;

const apiKey = (value: string) => ({ kind: "api_key", value }) as const;
const bearer = (value: string) => ({ kind: "bearer", value }) as const;

export const identityCases: readonly Case[] = [
  {
    group: "keys",
    name: "a new key has the contract's form and stands for its account at once",
    run: async ({ identity, account }) => {
      const owner = account();
      const made = await expectOk(identity.keys.create(owner, "a label"));
      expect(made.key).toMatch(/^psk_[A-Za-z0-9]{40}$/);
      expect(made.key.startsWith(made.prefix)).toBe(true);
      expect(await expectOk(identity.authenticator.authenticate(apiKey(made.key)))).toEqual({
        account: owner,
        credentialId: made.id,
      });
    },
  },
  {
    group: "keys",
    name: "keys are listed oldest first, by prefix, without what would open anything",
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
    name: "a revoked key is refused from then on, and gone from the list",
    run: async ({ identity, account }) => {
      const owner = account();
      const { id, key } = await expectOk(identity.keys.create(owner, "short-lived"));
      await expectOk(identity.authenticator.authenticate(apiKey(key)));
      await expectOk(identity.keys.revoke(owner, id));
      expect((await expectError(identity.authenticator.authenticate(apiKey(key)))).kind).toBe("unauthenticated");
      expect(await expectOk(identity.keys.list(owner))).toEqual([]);
    },
  },
  {
    group: "keys",
    name: "another account's key is not found, and stays",
    run: async ({ identity, account }) => {
      const { id, key } = await expectOk(identity.keys.create(account(), "mine"));
      expect((await expectError(identity.keys.revoke(account(), id))).kind).toBe("not_found");
      await expectOk(identity.authenticator.authenticate(apiKey(key)));
    },
  },
  {
    group: "refusals",
    name: "a wrong or malformed key is unauthenticated, and the message does not repeat it",
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
    name: "an issued token stands for its account, as a bearer and not as a key",
    run: async ({ identity, account }) => {
      const owner = account();
      const issued = await identity.tokens.issue({ account: owner, credentialId: "test" });
      if (issued.isErr()) return expect(issued.error.kind).toBe("unsupported");
      const { token } = issued.value;
      expect((await expectOk(identity.authenticator.authenticate(bearer(token)))).account).toBe(owner);
      expect((await expectError(identity.authenticator.authenticate(apiKey(token)))).kind).toBe("unauthenticated");
      const tampered = `${token.slice(0, -4)}AAAA`;
      expect((await expectError(identity.authenticator.authenticate(bearer(tampered)))).kind).toBe("unauthenticated");
      return undefined;
    },
  },
];
