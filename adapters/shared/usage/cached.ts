/** Caches subscriptions for one minute per account, and shares concurrent calls for an account. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { Subscription } from "../../../core/domain/usage/subscription.ts";
import { type Instant, plusMillis } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { Billing } from "../../../core/ports/billing.ts";
import type { Clock } from "../../../core/ports/system.ts";
import type { Result } from "../../../core/result.ts";
import { untilAborted } from "../calls/until-aborted.ts";

type Answer = Result<Subscription, Unavailable>;

const KEPT_MS = 60_000;
/** Maximum number of cached accounts. The oldest are evicted first. */
const KEPT_ACCOUNTS = 10_000;

const cancelled = unavailable("The request was cancelled.");

/** Does not cache failures: the next call may succeed. */
export const cachedBilling = (billing: Billing, clock: Clock): Billing => {
  const kept = new Map<AccountId, { readonly answer: Answer; readonly until: Instant }>();
  const asked = new Map<AccountId, Promise<Answer>>();

  const ask = async (account: AccountId): Promise<Answer> => {
    try {
      const answer = await billing.subscription(account);
      if (answer.isErr()) return answer;
      kept.delete(account);
      kept.set(account, { answer, until: plusMillis(clock.now(), KEPT_MS) });
      const [oldest] = kept.keys();
      if (kept.size > KEPT_ACCOUNTS && oldest !== undefined) kept.delete(oldest);
      return answer;
    } finally {
      asked.delete(account);
    }
  };

  const answerFor = (account: AccountId): Promise<Answer> => {
    const known = kept.get(account);
    if (known !== undefined && clock.now() < known.until) return Promise.resolve(known.answer);
    const running = asked.get(account) ?? ask(account);
    if (!asked.has(account)) asked.set(account, running);
    return running;
  };

  return {
    subscription: (account, { signal } = {}) => untilAborted(answerFor(account), signal, cancelled),
  };
};
