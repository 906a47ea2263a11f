/**
 * Certificates in AWS Certificate Manager, which validates a domain through a CNAME record, and renews the certificate
 * while the record exists and a load balancer uses the certificate. https://docs.aws.amazon.com/acm/latest/APIReference/
 */
import { createHash } from "node:crypto";
import type { CertificateDetail, CertificateSummary } from "@aws-sdk/client-acm";
import type { DomainName } from "../../../core/domain/domains/domain-name.ts";
import { instantOfMillis, timestampOf } from "../../../core/domain/wire/instant.ts";
import { ok, safeTry } from "../../../core/result.ts";
import {
  type AwsRuntimeDeps,
  awsCalls,
  type Called,
  commandSender,
  missingAsOk,
  type RetryOptions,
} from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import { awsFault } from "../errors.ts";
import type { Certificate, Described } from "./domain-object.ts";

export interface Certificates {
  /**
   * Requests a certificate, and returns its ARN. Requests with the same id within an hour get the same certificate.
   * Fails with `invalid` if a quota is exhausted.
   */
  request(domain: DomainName, id: string, retry?: RetryOptions): Called<string>;
  /** Returns the ARN of the certificate that was requested with the id at any time; undefined if there is none. */
  find(domain: DomainName, id: string, retry?: RetryOptions): Called<string | undefined>;
  /** Returns undefined if the certificate does not exist, or is so new that it is not visible yet. */
  describe(arn: string, domain: DomainName, retry?: RetryOptions): Called<Described | undefined>;
  /** Fails with `changed` while a load balancer uses the certificate. Succeeds if it does not exist. */
  remove(arn: string, retry?: RetryOptions): Called<void>;
}

/** The tag of the certificates that Portside requests. The platform's policy permits it to delete only these. */
export const CERTIFICATE_TAG = { Key: "portside-domain", Value: "true" } as const;

/** The tag with the id of the request, by which a certificate is found after its idempotency token has timed out. */
const REQUEST_TAG = "portside-request";

const PAGE_SIZE = 1000;

/** The values of CAA records that permit Amazon: https://docs.aws.amazon.com/acm/latest/userguide/setup-caa.html */
export const amazonAuthorities = ["amazon.com", "amazontrust.com", "awstrust.com", "amazonaws.com"] as const;

/** "The length of the domain name [...] cannot exceed 64 octets" (API_RequestCertificate). */
export const MAX_DOMAIN_CHARS = 64;

const acmFault: typeof awsFault = (error) =>
  error instanceof Error && error.name === "ResourceInUseException"
    ? { kind: "state", code: "changed" }
    : awsFault(error);

/** https://docs.aws.amazon.com/acm/latest/userguide/troubleshooting-failed.html */
const failureReasons: Readonly<Record<string, string>> = {
  CAA_ERROR: `Its CAA records do not permit Amazon. Add the record CAA '0 issue "${amazonAuthorities[0]}"'.`,
  ADDITIONAL_VERIFICATION_REQUIRED:
    "AWS requires more information about the domain. The operator must create a case at AWS Support.",
  DOMAIN_NOT_ALLOWED: "AWS considers the domain unsafe. The operator must create a case at AWS Support.",
  INVALID_PUBLIC_DOMAIN: "It is not a public domain. Use a domain that you registered.",
  DOMAIN_VALIDATION_DENIED: "The validation was denied. Check the CNAME record.",
};

const reasonOf = (code: string | undefined): string =>
  failureReasons[code ?? ""] ?? `Certificate Manager gives the reason ${code ?? "OTHER"}.`;

const createCname = (record: Certificate["record"]): string =>
  record === null ? "" : ` Create the record CNAME '${record.name}' with the value '${record.value}'.`;

const pendingProblem = (record: Certificate["record"]): string =>
  record === null
    ? "AWS Certificate Manager has not chosen the CNAME record yet. Check the domain again in a minute."
    : `AWS Certificate Manager has not validated the domain yet. This can take a few minutes after you create the record CNAME '${record.name}' with the value '${record.value}'.`;

const renewalProblem = ({ RenewalSummary }: CertificateDetail, record: Certificate["record"]): string | null => {
  const { RenewalStatus, RenewalStatusReason } = RenewalSummary ?? {};
  if (RenewalStatus === "PENDING_VALIDATION")
    return `AWS Certificate Manager cannot renew the certificate.${createCname(record)}`;
  return RenewalStatus === "FAILED"
    ? `AWS Certificate Manager cannot renew the certificate. ${reasonOf(RenewalStatusReason)}`
    : null;
};

const failedProblem = ({ Status, FailureReason }: CertificateDetail, record: Certificate["record"]): string => {
  if (Status === "VALIDATION_TIMED_OUT")
    return `AWS Certificate Manager did not find the CNAME record within 72 hours.${createCname(record)} Then check the domain again.`;
  return Status === "FAILED"
    ? `AWS Certificate Manager refused the certificate. ${reasonOf(FailureReason)} Then check the domain again.`
    : `The certificate is ${Status?.toLowerCase() ?? "unusable"}. Check the domain again.`;
};

const recordOf = ({ DomainValidationOptions = [] }: CertificateDetail, domain: DomainName): Certificate["record"] => {
  const found = DomainValidationOptions.find(({ DomainName }) => DomainName === domain)?.ResourceRecord;
  if (found?.Name === undefined || found.Value === undefined) return null;
  const withoutDot = (name: string): string => name.replace(/\.$/, "");
  return { name: withoutDot(found.Name), value: withoutDot(found.Value) };
};

/** Converts the state of a certificate. */
export const describedOf = (detail: CertificateDetail, domain: DomainName): Described => {
  const record = recordOf(detail, domain);
  const notAfter = detail.NotAfter === undefined ? null : timestampOf(instantOfMillis(detail.NotAfter.getTime()));
  if (detail.Status === "PENDING_VALIDATION")
    return { state: "pending", record, notAfter, problem: pendingProblem(record) };
  return detail.Status === "ISSUED"
    ? { state: "issued", record, notAfter, problem: renewalProblem(detail, record) }
    : { state: "failed", record, notAfter, problem: failedProblem(detail, record) };
};

/** "\w+", at most 32 characters (API_RequestCertificate, IdempotencyToken). */
const tokenOf = (id: string): string => createHash("sha256").update(id).digest("hex").slice(0, 32);

const arnsIn = (summaries: readonly CertificateSummary[] = [], domain: DomainName): readonly string[] =>
  summaries.flatMap(({ DomainName, CertificateArn = [] }) => (DomainName === domain ? CertificateArn : []));

export const createCertificates = (clients: ClientSource, runtime: AwsRuntimeDeps): Certificates => {
  const send = commandSender("certificates", "acm", clients, awsCalls(runtime, acmFault));
  const isOfRequest = (arn: string, id: string, retry?: RetryOptions): Called<boolean> =>
    send("ListTagsForCertificateCommand", { CertificateArn: arn }, retry)
      .map(({ Tags = [] }) => Tags.some(({ Key, Value }) => Key === REQUEST_TAG && Value === tokenOf(id)))
      .orElse(missingAsOk)
      .map((isTagged) => isTagged === true);
  return {
    request: (domain, id, retry) => {
      const IdempotencyToken = tokenOf(id);
      const Tags = [CERTIFICATE_TAG, { Key: REQUEST_TAG, Value: IdempotencyToken }];
      const input = { DomainName: domain, ValidationMethod: "DNS" as const, IdempotencyToken, Tags };
      return send("RequestCertificateCommand", input, retry).map(({ CertificateArn = "" }) => CertificateArn);
    },

    find: (domain, id, retry) =>
      safeTry(async function* () {
        for (let token: string | undefined; ; ) {
          // By default, lists certificates with RSA keys of 2048 bits, which `request` gets.
          const input = { MaxItems: PAGE_SIZE, ...(token === undefined ? {} : { NextToken: token }) };
          const page = yield* await send("ListCertificatesCommand", input, retry);
          for (const arn of arnsIn(page.CertificateSummaryList, domain))
            if (yield* await isOfRequest(arn, id, retry)) return ok(arn);
          token = page.NextToken;
          if (token === undefined) return ok(undefined);
        }
      }),

    describe: (arn, domain, retry) =>
      send("DescribeCertificateCommand", { CertificateArn: arn }, retry)
        .map(({ Certificate }) => (Certificate === undefined ? undefined : describedOf(Certificate, domain)))
        .orElse(missingAsOk),

    remove: (arn, retry) =>
      send("DeleteCertificateCommand", { CertificateArn: arn }, retry)
        .map(() => undefined)
        .orElse(missingAsOk),
  };
};
