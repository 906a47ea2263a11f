/** The encryption of secrets: only the same key and the same secret open a value. */
import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { SecretCipher, type SecretId } from "../../../../adapters/local/secrets/secret-cipher.ts";
import { accountId, secretName, secretValue } from "../../../arbitraries/index.ts";
import { runs } from "../../../support/vitest/runs.ts";

const secretId = (): fc.Arbitrary<SecretId> =>
  fc.record({ owner: accountId(), name: secretName(), version: fc.integer({ min: 1, max: 1000 }) });

const cipher = new SecretCipher(randomBytes(32));

test("a sealed value opens to itself, and two sealings of it differ", () => {
  fc.assert(
    fc.property(secretId(), secretValue(), (id, value) => {
      const sealed = cipher.seal(id, value);
      expect(cipher.open(id, sealed)).toBe(value);
      expect(cipher.seal(id, value).equals(sealed)).toBe(false);
      expect(sealed).toHaveLength(12 + 16 + Buffer.byteLength(value));
    }),
    runs(300),
  );
});

test("a ciphertext opens only for its own account, name and version", () => {
  fc.assert(
    fc.property(secretId(), secretId(), secretValue(), (id, other, value) => {
      const sealed = cipher.seal(id, value);
      for (const wrong of [
        { ...id, owner: other.owner },
        { ...id, name: other.name },
        { ...id, version: other.version },
      ]) {
        const isSame = JSON.stringify(wrong) === JSON.stringify(id);
        expect(cipher.open(wrong, sealed)).toBe(isSame ? value : undefined);
      }
    }),
    runs(300),
  );
});

test("a changed, shortened or foreign ciphertext does not open", () => {
  fc.assert(
    fc.property(secretId(), secretValue(), fc.nat(), fc.integer({ min: 1, max: 255 }), (id, value, at, flip) => {
      const sealed = cipher.seal(id, value);
      const changed = Buffer.from(sealed);
      const index = at % changed.length;
      changed[index] = (changed[index] as number) ^ flip;
      expect(cipher.open(id, changed)).toBeUndefined();
      expect(cipher.open(id, sealed.subarray(0, at % sealed.length))).toBeUndefined();
      expect(new SecretCipher(randomBytes(32)).open(id, sealed)).toBeUndefined();
    }),
    runs(300),
  );
});

test("a digest depends on the value, the name, the account and the key, but not on the version", () => {
  const id = { owner: "acme", name: "KEY" } as Omit<SecretId, "version">;
  const digests = [
    cipher.digest(id, "one"),
    cipher.digest(id, "two"),
    cipher.digest({ ...id, name: "OTHER" as SecretId["name"] }, "one"),
    cipher.digest({ ...id, owner: "other" as SecretId["owner"] }, "one"),
    new SecretCipher(randomBytes(32)).digest(id, "one"),
  ];
  expect(new Set(digests).size).toBe(5);
  expect(cipher.digest(id, "one")).toBe(digests[0]);
  for (const digest of digests) expect(digest).toMatch(/^hmac:[0-9a-f]{32}$/);
});

test("the check identifies the key", () => {
  const key = randomBytes(32);
  const same = new SecretCipher(key);
  expect(same.matches(new SecretCipher(key).check)).toBe(true);
  for (const check of [cipher.check, "", same.check.slice(1)]) expect(same.matches(check)).toBe(false);
  expect(same.check).not.toContain(key.toString("hex"));
});
