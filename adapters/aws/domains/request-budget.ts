/**
 * Counts each account's requests for certificates in the state bucket, `certificate-requests/DIGEST.json`. All accounts
 * of the platform share a yearly quota of requests: https://docs.aws.amazon.com/acm/latest/userguide/acm-limits.html
 */
import { z } from "zod";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { type CertificateRequest, countRequest } from "../../../core/domain/domains/order-budget.ts";
import { type Instant, instantOfMillis, millisOf } from "../../../core/domain/wire/instant.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { Clock, Logger } from "../../../core/ports/system.ts";
import { err, ok, type ResultAsync } from "../../../core/result.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import type { RetryOptions } from "../call-policy.ts";
import { parseJson } from "../state/parse-json.ts";
import { createSharedObjects, type ObjectFormat } from "../state/shared-objects.ts";
import type { StateBucket } from "../state/state-bucket.ts";

/** The account must not request a certificate before `permittedAt`. */
export interface BudgetUsed {
  readonly kind: "budget-used";
  readonly permittedAt: Instant;
}

export interface RequestBudget {
  /** Counts a request of the account. The attempts of one request have the same id, and count once. */
  count(owner: AccountId, id: string, retry?: RetryOptions): ResultAsync<void, BudgetUsed | Unavailable>;
}

const VERSION = "portside/v1";

const schema = z.object({
  version: z.literal(VERSION),
  /** `at` is in milliseconds since the epoch. */
  requests: z.array(z.object({ id: z.string(), at: z.int() })),
});

const format: ObjectFormat<readonly CertificateRequest[]> = {
  name: () => "the list of the account's requests for certificates",
  parse: (text) =>
    schema.safeParse(parseJson(text)).data?.requests.map(({ id, at }) => ({ id, at: instantOfMillis(at) })),
  render: (requests) =>
    JSON.stringify({ version: VERSION, requests: requests.map(({ id, at }) => ({ id, at: millisOf(at) })) }),
};

export const createRequestBudget = (
  bucket: StateBucket,
  runtime: { readonly clock: Clock; readonly logger: Logger },
): RequestBudget => {
  const objects = createSharedObjects(bucket, format, runtime);
  return {
    count: (owner, id, retry) => {
      const change = (found: readonly CertificateRequest[] | null) => {
        const counted = countRequest({ id, at: runtime.clock.now() }, found ?? []);
        if ("requests" in counted) return ok(counted.requests);
        return err<never, BudgetUsed>({ kind: "budget-used", permittedAt: counted.permittedAt });
      };
      const key = `certificate-requests/${accountDigest(owner)}.json`;
      return objects.update(key, change, retry).map(() => undefined);
    },
  };
};
