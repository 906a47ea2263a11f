/** The state of a domain whose certificate the provider's cloud manages. */
import { expect, test } from "vitest";
import type { DomainName } from "../../../../core/domain/domains/domain-name.ts";
import {
  type ManagedCertificate,
  withManagedCertificate,
} from "../../../../core/domain/domains/managed-certificate.ts";
import { instantOfSeconds, type Timestamp } from "../../../../core/domain/wire/instant.ts";

const NOW = instantOfSeconds(1_800_000_000);
const domain = "app.example.com" as DomainName;
const served: ManagedCertificate = {
  isServed: true,
  problem: null,
  notAfter: "2030-01-01T00:00:00+00:00" as Timestamp,
  records: [],
};

const active = { domain, status: "active", detail: "Requests reach 'app'." } as const;
const failing = { domain, status: "failing", detail: "The TXT record is missing." } as const;

test("a pending domain keeps its own state, whatever its certificate is", () => {
  const pending = { domain, status: "pending", detail: "Create the DNS records." } as const;
  const { status, detail } = pending;
  for (const one of [served, { ...served, isServed: false, problem: "No certificate." }])
    expect(withManagedCertificate(pending, one, NOW)).toEqual({ status, detail });
});

test("a domain without a served certificate is pending, with the reason", () => {
  const view = withManagedCertificate(active, { ...served, isServed: false, problem: "AWS refused." }, NOW);
  expect(view).toEqual({ status: "pending", detail: "The DNS records are correct. AWS refused." });
  const later = withManagedCertificate(failing, { ...served, isServed: false }, NOW);
  expect(later.status).toBe("pending");
  expect(later.detail).toMatch(/^The TXT record is missing\. The platform does not serve/);
});

test("a served certificate without a problem changes nothing", () => {
  for (const { status, detail } of [active, failing])
    expect(withManagedCertificate({ domain, status, detail }, served, NOW)).toEqual({ status, detail });
});

test("an expired certificate and a problem make an active domain failing, and the details are joined", () => {
  const expired = { ...served, notAfter: "2020-01-01T00:00:00+00:00" as Timestamp };
  expect(withManagedCertificate(active, expired, NOW)).toEqual({
    status: "failing",
    detail: "The certificate of 'app.example.com' expired at 2020-01-01T00:00:00+00:00.",
  });
  const view = withManagedCertificate(failing, { ...served, problem: "No renewal." }, NOW);
  expect(view).toEqual({ status: "failing", detail: "The TXT record is missing. No renewal." });
});
