/** A proof of ownership is valid for one installation, account and domain only. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { ownershipProof } from "../../../../adapters/shared/domains/ownership-proof.ts";
import { accountId, domainName } from "../../../arbitraries/index.ts";

const installation = fc.record({ id: fc.string(), key: fc.string({ minLength: 1 }) });

test("changes with the installation, its key, the account and the domain", () => {
  const subject = fc.record({ installation, account: accountId(), domain: domainName() });
  fc.assert(
    fc.property(subject, subject, (one, other) => {
      const proofOf = (from: typeof one) => ownershipProof(from.installation, from.account, from.domain);
      const proof = proofOf(one);
      expect(proofOf(structuredClone(one))).toBe(proof);
      const changes = [
        { ...one, installation: { ...one.installation, id: `${one.installation.id}x` } },
        { ...one, installation: { ...one.installation, key: `${one.installation.key}x` } },
        { ...one, account: `${one.account}x` as typeof one.account },
        { ...one, domain: `x${one.domain}` as typeof one.domain },
        ...(JSON.stringify(one) === JSON.stringify(other) ? [] : [other]),
      ];
      for (const change of changes) expect(proofOf(change)).not.toBe(proof);
    }),
  );
});

test("parts of the account and the domain cannot be exchanged", () => {
  const at = { id: "i", key: "k" };
  const proofOf = (account: string, domain: string) => ownershipProof(at, account as never, domain as never);
  expect(proofOf("a", "b.example.com")).not.toBe(proofOf("ab", ".example.com"));
});
