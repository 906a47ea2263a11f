/** Removes revisions that do not serve any more. The record keeps the remaining ones, and the next rollout retries. */

import type { HeldRecord } from "./records/record.ts";
import { amend } from "./records/writes.ts";
import { retire } from "./retire.ts";
import type { Attempt } from "./rollout/run-rollout.ts";

/**
 * @param drain milliseconds that instances get to finish requests
 * @param timeoutMs retry timeout per call, in milliseconds
 */
export const sweep = async (
  { deps, host, request }: Attempt,
  record: HeldRecord,
  drain: number,
  timeoutMs: number,
): Promise<void> => {
  const { name, owner } = request.template;
  const gone = new Set<string>();
  for (const revision of record.retired) {
    const retired = await retire(deps, { owner, revision, host, drain }, { timeoutMs });
    if (retired.isOk() && retired.value === "gone") gone.add(revision);
    else deps.logger.warn("a revision that serves no more was not taken away", { revision });
  }
  if (gone.size === 0) return;
  const forget = (now: HeldRecord) => ({ ...now, retired: now.retired.filter((id) => !gone.has(id)) });
  const amended = await amend(deps, name, forget, { timeoutMs });
  // The next rollout tries to remove them once more.
  if (amended.isErr()) deps.logger.warn("what was taken away is still known", { name });
};
