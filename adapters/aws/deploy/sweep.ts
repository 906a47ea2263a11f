/**
 * Removes the retired revisions. Also removes the stored release of each of them that the record does not list as a
 * release. If a removal fails, the record keeps the revision for the next rollout.
 */

import type { RetryOptions } from "../call-policy.ts";
import type { HeldRecord } from "./records/record.ts";
import { releasedIn } from "./records/releases.ts";
import { servingOf } from "./records/service.ts";
import { amend } from "./records/writes.ts";
import { retire } from "./retire.ts";
import type { RolloutAttempt } from "./rollout/rollout-attempt.ts";

/** @param drain milliseconds for instances to finish their requests */
export const sweep = async (
  { deps, host, request }: RolloutAttempt,
  record: HeldRecord,
  drain: number,
  retry: RetryOptions,
): Promise<void> => {
  const { name, owner } = request.template;
  const removed = new Set<string>();
  const released = new Set(releasedIn(record, servingOf(record)).map(({ revision }) => revision));
  for (const revision of record.retired) {
    const retired = await retire(deps, { owner, revision, host, drain }, retry);
    const isDeleted = retired.isOk() && retired.value === "deleted";
    const isListed = released.has(revision);
    if (isDeleted && (isListed || (await deps.releases.remove(record.uid, revision, retry)).isOk()))
      removed.add(revision);
    else deps.logger.warn("a replaced revision was not removed", { revision });
  }
  if (removed.size === 0) return;
  const forget = (now: HeldRecord) => ({ ...now, retired: now.retired.filter((id) => !removed.has(id)) });
  const amended = await amend(deps, name, forget, retry);
  // The next rollout retries.
  if (amended.isErr()) deps.logger.warn("removed revisions are still in the record", { name });
};
