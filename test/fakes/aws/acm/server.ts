/**
 * A fake Certificate Manager on a loopback port. Sources: the service model (@aws-sdk/client-acm) and, below
 * https://docs.aws.amazon.com/acm/latest: APIReference/API_RequestCertificate.html, .../API_DescribeCertificate.html,
 * .../API_DeleteCertificate.html, .../API_ListCertificates.html, .../API_ListTagsForCertificate.html, userguide/dns-validation.html and userguide/acm-limits.html.
 */
import { createHash, randomUUID } from "node:crypto";
import { ACMClient } from "@aws-sdk/client-acm";
import { Faults } from "../../faults.ts";
import { type AdverseBehaviors, CERTIFICATE_IN_USE_MS, CERTIFICATE_LATE_MS, noneAdverse } from "../adverse.ts";
import { clientOptions, jsonProtocol, type Message } from "../protocols.ts";
import { recorded } from "../requests/recorder.ts";
import { AwsError, serveAws } from "../server.ts";
import { tagProblem } from "../tags.ts";
import { ACCOUNT, REGION } from "../test-config.ts";

export interface FakeCertificate {
  readonly arn: string;
  readonly domain: string;
  readonly token: string;
  readonly tags: readonly Message[];
  /** In milliseconds, like `lastUsedAt`. */
  readonly requestedAt: number;
  status: string;
  failureReason?: string;
  renewal?: { readonly RenewalStatus: string; readonly RenewalStatusReason?: string };
  lastUsedAt: number;
}

export interface FakeAcmOptions {
  readonly adverse?: AdverseBehaviors;
  /** The time in milliseconds; defaults to the machine's. */
  readonly now?: () => number;
  /** The ARNs of the load balancers that use a certificate. */
  readonly usersOf?: (arn: string) => readonly string[];
}

const HOUR_MS = 3_600_000;
/** Certificates of Certificate Manager are valid for 198 days (userguide/acm-certificate-characteristics.html). */
const LIFE_SECONDS = 198 * 86_400;

const missing = (arn: string) =>
  new AwsError("ResourceNotFoundException", `Could not find certificate ${arn} in account ${ACCOUNT}.`);

/** The record is the same for each certificate of a domain in an AWS account (userguide/dns-validation.html). */
const recordOf = (domain: string) => {
  const digest = createHash("md5").update(domain).digest("hex");
  return {
    Name: `_${digest}.${domain}.`,
    Type: "CNAME",
    Value: `_${digest.split("").reverse().join("")}.acm-validations.aws.`,
  };
};

export const startFakeAcm = async ({
  adverse = noneAdverse,
  now = Date.now,
  usersOf = () => [],
}: FakeAcmOptions = {}) => {
  const faults = new Faults();
  /** By ARN. */
  const certificates = new Map<string, FakeCertificate>();
  const settings = { maxCertificates: 2500, maxListed: 1000 };

  const find = (arn: string): FakeCertificate => {
    const found = certificates.get(arn);
    if (found === undefined) throw missing(arn);
    if (usersOf(arn).length > 0) found.lastUsedAt = now();
    return found;
  };

  const checkInput = ({ DomainName = "", IdempotencyToken = "", ValidationMethod, Tags = [] }: Message): void => {
    if (DomainName.length > 64)
      throw new AwsError("InvalidDomainValidationOptionsException", "The common name is too long.");
    if (!/^\w{1,32}$/.test(IdempotencyToken)) throw new AwsError("ValidationException", "Invalid idempotencyToken.");
    if (ValidationMethod !== "DNS") throw new AwsError("ValidationException", "The fake validates by DNS only.");
    const problem = tagProblem(Tags.map(({ Key, Value }: Message) => [Key, Value]));
    if (problem !== undefined) throw new AwsError("InvalidTagException", problem);
  };

  const methods = {
    RequestCertificate: (input: Message) => {
      checkInput(input);
      const { DomainName: domain, IdempotencyToken: token, Tags: tags } = input;
      // "Idempotency tokens time out after one hour."
      const same = [...certificates.values()].find(
        (one) => one.token === token && one.domain === domain && now() - one.requestedAt < HOUR_MS,
      );
      if (same !== undefined) return { CertificateArn: same.arn };
      if (certificates.size >= settings.maxCertificates)
        throw new AwsError("LimitExceededException", "Error: the maximum number of certificates has been reached.");
      const arn = `arn:aws:acm:${REGION}:${ACCOUNT}:certificate/${randomUUID()}`;
      const times = { requestedAt: now(), lastUsedAt: 0 };
      certificates.set(arn, { arn, domain, token, tags, ...times, status: "PENDING_VALIDATION" });
      return { CertificateArn: arn };
    },
    ListCertificates: ({ MaxItems, NextToken }: Message) => {
      const all = [...certificates.values()].map(({ arn, domain }) => ({ CertificateArn: arn, DomainName: domain }));
      const start = Number(NextToken ?? 0);
      const end = start + Math.min(MaxItems, settings.maxListed);
      return { CertificateSummaryList: all.slice(start, end), NextToken: end < all.length ? `${end}` : undefined };
    },
    ListTagsForCertificate: ({ CertificateArn }: Message) => ({ Tags: find(CertificateArn).tags }),
    DescribeCertificate: ({ CertificateArn }: Message) => {
      const { arn, domain, status, failureReason, renewal, requestedAt } = find(CertificateArn);
      const isLate = adverse.has("certificate_late") && now() - requestedAt < CERTIFICATE_LATE_MS;
      const validation = { DomainName: domain, ValidationMethod: "DNS", ValidationStatus: "PENDING_VALIDATION" };
      const issued = status === "ISSUED" ? { NotAfter: Math.floor(requestedAt / 1000) + LIFE_SECONDS } : {};
      return {
        Certificate: {
          CertificateArn: arn,
          DomainName: domain,
          Status: status,
          FailureReason: failureReason,
          Type: "AMAZON_ISSUED",
          InUseBy: usersOf(arn),
          ...issued,
          DomainValidationOptions: [{ ...validation, ...(isLate ? {} : { ResourceRecord: recordOf(domain) }) }],
          ...(renewal === undefined ? {} : { RenewalSummary: { ...renewal, UpdatedAt: Math.floor(now() / 1000) } }),
        },
      };
    },
    // "You cannot delete an ACM certificate that is being used by another AWS service."
    DeleteCertificate: ({ CertificateArn }: Message) => {
      const { lastUsedAt } = find(CertificateArn);
      const isRecent = adverse.has("certificate_in_use") && now() - lastUsedAt < CERTIFICATE_IN_USE_MS;
      if (usersOf(CertificateArn).length > 0 || isRecent)
        throw new AwsError("ResourceInUseException", `Certificate ${CertificateArn} in account ${ACCOUNT} is in use.`);
      certificates.delete(CertificateArn);
      return {};
    },
  };

  const server = await serveAws(faults, jsonProtocol(methods, { service: "CertificateManager" }));
  const client = recorded("certificates", new ACMClient(clientOptions(server.endpoint)));
  const latest = (domain: string): FakeCertificate => {
    const found = [...certificates.values()].findLast((one) => one.domain === domain);
    if (found === undefined) throw new Error(`no certificate for ${domain}`);
    return found;
  };
  return {
    client,
    faults,
    settings,
    certificates: certificates as ReadonlyMap<string, FakeCertificate>,
    latest,
    isIssued: (arn: string): boolean => certificates.get(arn)?.status === "ISSUED",
    /** Validates the newest certificate of a domain. */
    issue: (domain: string): void => {
      latest(domain).status = "ISSUED";
    },
    /** Refuses the newest certificate of a domain. */
    fail: (domain: string, reason: string): void => {
      Object.assign(latest(domain), { status: "FAILED", failureReason: reason });
    },
    /** Deletes a certificate, as an operator would. */
    remove: (arn: string): boolean => certificates.delete(arn),
    close: async () => {
      client.destroy();
      await server.close();
    },
  };
};
