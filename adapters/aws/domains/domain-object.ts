/**
 * A domain in the state bucket, `domains/DOMAIN.json`: the domain, and the certificate in AWS Certificate Manager. A
 * removed domain keeps its object until its certificates are deleted. Pure.
 */
import { z } from "zod";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { type CustomDomain, domainStatuses, type StoredDomain } from "../../../core/domain/domains/domain.ts";
import type { DomainName } from "../../../core/domain/domains/domain-name.ts";
import { retryDelayMs } from "../../../core/domain/domains/renewal.ts";
import { type Instant, millisOf, type Timestamp } from "../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import { parseJson } from "../state/parse-json.ts";

const VERSION = "portside/v1";

const certificateSchema = z.object({
  arn: z.string(),
  /** Milliseconds since the epoch. */
  requestedAt: z.number(),
  state: z.enum(["pending", "issued", "failed"]),
  /** The CNAME record that validates the domain; null before Certificate Manager has chosen it. */
  record: z.object({ name: z.string(), value: z.string() }).nullable(),
  notAfter: z.string().nullable(),
  problem: z.string().nullable(),
  /** The listeners that may have the certificate. Written before the certificate is added. */
  listeners: z.array(z.string()),
  /** Whether a listener has the certificate and the deployment's rule has the domain. */
  isServed: z.boolean(),
});

const objectSchema = z.object({
  version: z.literal(VERSION),
  domain: z.string(),
  owner: z.string(),
  name: z.string(),
  status: z.enum(domainStatuses),
  detail: z.string(),
  createdAt: z.string(),
  checkedAt: z.string().nullable(),
  /** The id of the last write through the port: the etag. */
  write: z.string(),
  /** When the domain was removed, in milliseconds since the epoch; null if it exists. */
  removedAt: z.number().nullable(),
  certificate: certificateSchema.nullable(),
  /**
   * The number of consecutive failed certificates, and the time of the last failure in milliseconds since the epoch.
   */
  failures: z.int().min(0),
  failedAt: z.number(),
  /** The certificates to delete. They are never used again. */
  leftovers: z.array(z.object({ arn: z.string(), listeners: z.array(z.string()) })),
  /** Former deployments whose rules may still have the domain. Written in the same write that moves the domain. */
  formerRoutes: z.array(z.object({ owner: z.string(), name: z.string() })),
});

export type Certificate = Readonly<z.output<typeof certificateSchema>>;

export interface Leftover {
  readonly arn: string;
  readonly listeners: readonly string[];
}

/** A deployment of an account. */
export type Deployment = Pick<CustomDomain, "owner" | "name">;

export interface DomainObject {
  readonly domain: CustomDomain;
  readonly write: string;
  readonly removedAt: number | null;
  readonly certificate: Certificate | null;
  readonly failures: number;
  readonly failedAt: number;
  readonly leftovers: readonly Leftover[];
  readonly formerRoutes: readonly Deployment[];
}

export const renderObject = ({ domain, ...rest }: DomainObject): string =>
  JSON.stringify({ version: VERSION, ...domain, ...rest });

/** Returns undefined if the text is damaged. */
export const parseObject = (text: string): DomainObject | undefined => {
  const parsed = objectSchema.safeParse(parseJson(text));
  if (!parsed.success) return undefined;
  const { version: _, domain, owner, name, status, detail, createdAt, checkedAt, formerRoutes, ...rest } = parsed.data;
  const own: CustomDomain = {
    domain: domain as DomainName,
    owner: owner as AccountId,
    name: name as DeploymentName,
    status,
    detail,
    createdAt: createdAt as Timestamp,
    checkedAt: checkedAt as Timestamp | null,
  };
  return { domain: own, ...rest, formerRoutes: formerRoutes as unknown as readonly Deployment[] };
};

/** Returns the domain as the port returns it, or null if it was removed. */
export const storedOf = ({ domain, write, removedAt }: DomainObject): StoredDomain | null =>
  removedAt === null ? { ...domain, etag: write } : null;

export const isSameDeployment = (one: Deployment, other: Deployment): boolean =>
  one.owner === other.owner && one.name === other.name;

/** Returns whether the change requires removing the domain from the rule of its current deployment. */
export const leavesRule = ({ domain, removedAt }: DomainObject, next: CustomDomain | null): boolean =>
  removedAt === null &&
  domain.status !== "pending" &&
  (next === null || next.status === "pending" || !isSameDeployment(domain, next));

const formerAfter = (found: DomainObject, next: CustomDomain | null): readonly Deployment[] => {
  const { owner, name } = found.domain;
  const others = found.formerRoutes.filter((one) => !isSameDeployment(one, found.domain));
  return leavesRule(found, next) ? [...others, { owner, name }] : found.formerRoutes;
};

/**
 * Returns the object after a write through the port. The certificate stays with the domain even if the domain's owner
 * changes.
 */
export const afterWrite = (found: DomainObject | null, domain: CustomDomain, write: string): DomainObject => {
  const base = found ?? { certificate: null, failures: 0, failedAt: 0, leftovers: [], formerRoutes: [] };
  const isSame = found?.removedAt === null && isSameDeployment(found.domain, domain);
  const isServed = isSame && domain.status !== "pending" && base.certificate?.isServed === true;
  const { failures, failedAt, leftovers } = base;
  const certificate = base.certificate === null ? null : { ...base.certificate, isServed };
  const formerRoutes = found === null ? base.formerRoutes : formerAfter(found, domain);
  return { domain, write, certificate, failures, failedAt, leftovers, formerRoutes, removedAt: null };
};

/** Returns the object after the domain was removed. */
export const afterRemoval = (found: DomainObject, write: string, now: Instant): DomainObject => ({
  ...found,
  write,
  removedAt: millisOf(now),
  formerRoutes: formerAfter(found, null),
});

/** How long a removed domain keeps its certificate in case the domain is added again, in milliseconds. */
export const GRACE_MS = 2 * 60_000;

/** Moves the certificate to the leftovers if the domain was removed at least `GRACE_MS` ago. */
export const claimed = (found: DomainObject, now: Instant): DomainObject => {
  const { certificate, removedAt } = found;
  return certificate === null || removedAt === null || millisOf(now) < removedAt + GRACE_MS
    ? found
    : withoutCertificate(found);
};

/** Moves the certificate to the leftovers. */
export const withoutCertificate = (found: DomainObject): DomainObject => {
  const { certificate, leftovers } = found;
  if (certificate === null) return found;
  const { arn, listeners } = certificate;
  return { ...found, certificate: null, leftovers: [...leftovers, { arn, listeners }] };
};

/** The part of a certificate that Certificate Manager knows. */
export type Described = Pick<Certificate, "state" | "record" | "notAfter" | "problem">;

/** Returns the object after its certificate was described. Counts failures, which delay the next request. */
export const afterDescription = (found: DomainObject, described: Described, now: Instant): DomainObject => {
  const { certificate, failures, failedAt } = found;
  if (certificate === null) return found;
  const next = { ...certificate, ...described, record: described.record ?? certificate.record };
  if (next.state === "pending" || next.state === certificate.state) return { ...found, certificate: next };
  return next.state === "issued"
    ? { ...found, certificate: next, failures: 0, failedAt }
    : { ...found, certificate: next, failures: failures + 1, failedAt: millisOf(now) };
};

/** Returns whether a certificate may be requested. The pauses after failures protect the yearly quota of requests. */
export const mayRequest = ({ failures, failedAt }: DomainObject, now: Instant): boolean =>
  failures === 0 || millisOf(now) >= failedAt + retryDelayMs(failures);

/** Returns whether requests for the domain must reach its deployment. */
export const isRouted = ({ domain, removedAt, certificate }: DomainObject): boolean =>
  removedAt === null && domain.status !== "pending" && certificate?.state === "issued";

/** Returns whether the object can be deleted: the domain was removed, and no certificate or rule is left. */
export const isObsolete = (object: DomainObject): boolean =>
  object.removedAt !== null && object.certificate === null && !hasLeftovers(object);

/** Returns whether certificates must be deleted, or rules may still have the domain. */
export const hasLeftovers = ({ leftovers, formerRoutes }: DomainObject): boolean =>
  leftovers.length > 0 || formerRoutes.length > 0;
