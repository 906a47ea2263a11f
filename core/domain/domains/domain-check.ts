/** The states of a domain: how a check changes them, and when another account may take over a domain. */
import { parseInstant, type Timestamp } from "../wire/instant.ts";
import { isFromFastClock } from "./clock-correction.ts";
import type { CustomDomain, DomainStatus } from "./domain.ts";

/** The outcome of a check. */
export type CheckOutcome =
  /** The problems of the records; empty if the records are correct. */
  | { readonly kind: "found"; readonly problems: readonly string[] }
  /** The DNS servers of the domain did not respond, or responded with an error. */
  | { readonly kind: "no_response" };

const afterProblems = (status: DomainStatus): DomainStatus => (status === "pending" ? "pending" : "failing");

/** Compares instants, because the number of fraction digits of a timestamp varies. */
const isOutdated = (beganAt: Timestamp, { checkedAt }: CustomDomain): boolean => {
  const [began, latest] = [parseInstant(beganAt), checkedAt === null ? undefined : parseInstant(checkedAt)];
  return began !== undefined && latest !== undefined && began < latest && !isFromFastClock(latest, 0, began);
};

/**
 * Returns the domain after a check. A domain that was active never becomes pending again. If the DNS servers do not
 * respond, the status does not change. Returns the domain unchanged if it already has the outcome of a later check.
 *
 * @param checkedAt the time at which the check began
 */
export const afterCheck = <D extends CustomDomain>(stored: D, outcome: CheckOutcome, checkedAt: Timestamp): D => {
  const { domain, name, status } = stored;
  if (isOutdated(checkedAt, stored)) return stored;
  if (outcome.kind === "no_response")
    return {
      ...stored,
      checkedAt,
      detail: `The DNS servers of '${domain}' did not respond, or responded with an error. Check the domain again.`,
    };
  return outcome.problems.length === 0
    ? { ...stored, checkedAt, status: "active", detail: `Requests to '${domain}' reach '${name}'.` }
    : { ...stored, checkedAt, status: afterProblems(status), detail: outcome.problems.join(" ") };
};

/** Returns the domain after a move to another deployment of its account. The proof of ownership remains valid. */
export const mapTo = <D extends CustomDomain>(stored: D, name: CustomDomain["name"]): D => ({
  ...stored,
  name,
  detail: stored.status === "active" ? `Requests to '${stored.domain}' reach '${name}'.` : stored.detail,
});

/**
 * Returns whether an account may take over a domain of another account: DNS must have the proof of the new account, and
 * must no longer have the proof of the current owner. An account that does not control the domain therefore cannot
 * block its owner.
 *
 * @param found the TXT records of `ownershipName`
 */
export const mayTakeOver = (
  found: readonly string[],
  proofs: { readonly present: string; readonly next: string },
): boolean => found.includes(proofs.next) && !found.includes(proofs.present);
