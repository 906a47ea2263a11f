/** Custom domains of an account: what the platform stores, and what clients see. */
import { z } from "zod";
import type { AccountId } from "../accounts/account.ts";
import type { Timestamp } from "../wire/instant.ts";
import type { DeploymentName } from "../wire/names.ts";
import type { DomainName } from "./domain-name.ts";

/**
 * `pending`: no check has succeeded yet, or the domain waits for its first certificate. `active`: the last check
 * succeeded. `failing`: a check succeeded earlier, but the last one found a problem, or the certificate cannot be
 * renewed. A check without a response does not change the status. Requests reach the deployment while the domain is
 * `active` or `failing`, because a mistake in DNS must not take a site down.
 */
export const domainStatuses = ["pending", "active", "failing"] as const;
export type DomainStatus = (typeof domainStatuses)[number];

/** A domain, and the deployment that serves it. */
export interface CustomDomain {
  readonly domain: DomainName;
  readonly owner: AccountId;
  readonly name: DeploymentName;
  readonly status: DomainStatus;
  /** A sentence about the state: what is missing, or that requests reach the deployment. */
  readonly detail: string;
  readonly createdAt: Timestamp;
  /** The time at which the last check began; null before the first one. */
  readonly checkedAt: Timestamp | null;
}

/** A domain as its store returns it. */
export interface StoredDomain extends CustomDomain {
  /** Changes with each write of the domain. */
  readonly etag: string;
}

const DNS_EXAMPLE = "203.0.113.10";

const recordSchema = z.object({
  type: z.enum(["TXT", "A", "AAAA", "CNAME", "ALIAS"]).meta({
    description:
      "The type of the record. `ALIAS` is the type at a zone's apex; your DNS provider may use a different name for it.",
  }),
  name: z.string().meta({ description: "The full name of the record.", examples: ["app.example.com"] }),
  value: z.string().meta({ description: "The value of the record.", examples: [DNS_EXAMPLE] }),
  purpose: z.enum(["ownership", "address", "certificate"]).meta({
    description:
      "`ownership`: proves that you control the domain. `address`: sends requests to the platform. `certificate`: " +
      "permits the provider to issue the certificate and to renew it.",
  }),
});

/** A DNS record that the owner of a domain must create. */
export type DomainRecord = z.output<typeof recordSchema>;

/** The schema of a domain in the responses of `/v1/domain/add`, `list` and `check`. */
export const domainSchema = z
  .object({
    domain: z.string().meta({ description: "The domain in ASCII.", examples: ["app.example.com"] }),
    name: z.string().meta({ description: "The deployment that serves the domain." }),
    status: z.enum(domainStatuses).meta({
      description:
        "`pending`: no check has succeeded yet, or the domain waits for its first certificate. `active`: the last check " +
        "succeeded. `failing`: a check succeeded earlier, but the last one found a problem, or the certificate cannot " +
        "be renewed; requests still reach the deployment.",
    }),
    detail: z.string().meta({ description: "A sentence about the state, with the next step." }),
    certificate: z
      .object({ not_after: z.string().meta({ format: "date-time", description: "When the certificate expires." }) })
      .nullable()
      .meta({
        description: "The certificate; null if the domain has none, or if the provider does not manage certificates.",
      }),
    records: z.array(recordSchema).meta({ description: "The DNS records that the domain needs." }),
    created_at: z.string().meta({ format: "date-time" }),
    checked_at: z
      .string()
      .nullable()
      .meta({ format: "date-time", description: "The last check; null before the first one." }),
  })
  .readonly();

/** A domain as clients see it. */
export type DomainRow = z.output<typeof domainSchema>;

/** Returns a new domain without a check. */
export const newDomain = (
  domain: DomainName,
  owner: AccountId,
  name: DeploymentName,
  createdAt: Timestamp,
): CustomDomain => ({
  domain,
  owner,
  name,
  createdAt,
  status: "pending",
  detail: "Create the DNS records, then check the domain.",
  checkedAt: null,
});

/**
 * Converts a domain to its client view.
 * @param notAfter the expiry of its certificate; null if it has none
 */
export const domainRowOf = (
  stored: CustomDomain,
  records: readonly DomainRecord[],
  notAfter: Timestamp | null,
): DomainRow => ({
  domain: stored.domain,
  name: stored.name,
  status: stored.status,
  detail: stored.detail,
  certificate: notAfter === null ? null : { not_after: notAfter },
  records: [...records],
  created_at: stored.createdAt,
  checked_at: stored.checkedAt,
});

/** The limits of a provider for custom domains. */
export interface DomainLimits {
  /** The maximum number of characters of a domain. */
  readonly chars: number;
  /** The maximum number of domains of a deployment. */
  readonly perDeployment: number;
}

/** Returns a message if the domain is too long for the provider. */
export const domainLengthProblem = (domain: DomainName, { chars }: Pick<DomainLimits, "chars">): string | undefined =>
  domain.length > chars ? `must have at most ${chars} characters with this provider; got ${domain.length}` : undefined;

/** Returns a message if another domain would exceed the deployment's limit. */
export const deploymentQuotaProblem = (
  own: readonly Pick<CustomDomain, "name">[],
  name: DeploymentName,
  { perDeployment }: Pick<DomainLimits, "perDeployment">,
): string | undefined =>
  own.filter((one) => one.name === name).length >= perDeployment
    ? `the deployment '${name}' may have at most ${perDeployment} domains with this provider; remove one first`
    : undefined;

/** Returns a message if an account with `count` domains would exceed the quota. */
export const domainQuotaProblem = (count: number, max: number): string | undefined =>
  count > max ? `your account may have at most ${max} domains; remove one first` : undefined;
