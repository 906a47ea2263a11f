/** The simulated authority: the contract, and its controls. */
import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { expect, test } from "vitest";
import type { CertificateRequest } from "../../../../core/ports/certificate-authority.ts";
import { okAsync } from "../../../../core/result.ts";
import { certificateAuthorityCases, contractTests } from "../../../contracts/index.ts";
import { simulatedAuthority } from "../../../support/domains/simulated-host.ts";

contractTests("simulated authority", certificateAuthorityCases, async () => ({
  subject: simulatedAuthority(),
  close: async () => undefined,
}));

const requestTo = ({ responder, host }: ReturnType<typeof simulatedAuthority>): CertificateRequest => ({
  host: host(),
  key: generateKeyPairSync("ec", { namedCurve: "P-256" })
    .privateKey.export({ type: "pkcs8", format: "pem" })
    .toString(),
  responder,
  started: () => okAsync(undefined),
});

test("records certificates, which its root signs at the time of the clock", async () => {
  const subject = simulatedAuthority();
  const { authority, clock } = subject;
  const request = requestTo(subject);
  await clock.advance(86_400_000);
  const chain = (await authority.order({ ...request, replaces: "old" }))._unsafeUnwrap();
  expect(authority.issued).toEqual([{ host: request.host, chain, replaces: "old" }]);
  const leaf = new X509Certificate(chain);
  expect(leaf.verify(new X509Certificate(authority.root).publicKey)).toBe(true);
  expect(leaf.validFromDate).toEqual(new Date("2026-03-02T12:00:00Z"));
  expect(leaf.validToDate).toEqual(new Date("2026-05-31T12:00:00Z"));
});

test("fails on demand", async () => {
  const subject = simulatedAuthority();
  const { authority } = subject;
  const request = requestTo(subject);
  authority.respond(false);
  expect((await authority.order(request))._unsafeUnwrapErr().kind).toBe("unavailable");
  expect((await authority.advice("any"))._unsafeUnwrapErr().kind).toBe("unavailable");
  authority.respond(true);
  authority.refuse({ message: "Too many certificates.", retryAfterMs: 60_000 });
  expect((await authority.order(request))._unsafeUnwrapErr()).toEqual({
    kind: "order_failed",
    message: "Too many certificates.",
    retryAfterMs: 60_000,
    othersMayIssue: true,
  });
  expect(authority.orders).toBe(0);
  authority.refuse(undefined);
  expect((await authority.order(request)).isOk()).toBe(true);
  authority.suggest(null);
  expect((await authority.advice("any"))._unsafeUnwrap()).toBeNull();
});

test("continues a finished order with the same certificate", async () => {
  const subject = simulatedAuthority();
  const orders: string[] = [];
  const request: CertificateRequest = {
    ...requestTo(subject),
    started: (order) => {
      orders.push(order);
      return okAsync(undefined);
    },
  };
  const first = (await subject.authority.order(request))._unsafeUnwrap();
  const again = (await subject.authority.order({ ...request, order: orders[0] }))._unsafeUnwrap();
  expect(again).toBe(first);
  expect(orders).toHaveLength(1);
});
