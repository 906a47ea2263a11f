/** Closes the bucket of a volume in the trash, so that signed URLs no longer work. */
import { pendingUploadsMax } from "../../../core/domain/accounts/limits.ts";
import { ok, safeTry } from "../../../core/result.ts";
import type { ApiResult } from "../../cloud/calls/expect-states.ts";
import { inParallel } from "../../cloud/calls/in-parallel.ts";
import { closedPolicy, trashLifecycle } from "./bucket-settings.ts";
import type { AwsVolume } from "./record.ts";
import { replaceLifecycle } from "./replace-lifecycle.ts";
import { reopenBucket } from "./restore-volume.ts";
import type { VolumeCall } from "./volume-call.ts";

/** Maximum number of concurrent calls that abort uploads. */
const CONCURRENCY = 16;

/**
 * Aborts the incomplete uploads of a closed bucket. Otherwise, their parts would cost money until the daily lifecycle
 * rule deletes them. The rule also deletes the parts that remain after an error, so an error does not stop the deletion
 * of the volume.
 */
const abortUploads = async ({ api, logger }: VolumeCall, id: string): Promise<void> => {
  const aborted = await api
    .uploads(id, pendingUploadsMax)
    .andThen((found) =>
      inParallel(found === "not_found" ? [] : found, CONCURRENCY, (upload) => api.abortUpload(id, upload)),
    );
  if (aborted.isErr()) logger.warn("not all incomplete uploads of a deleted volume were aborted", { volume: id });
};

/** Closes the bucket and removes the name's mark. Returns `restored` if a concurrent call restored the volume. */
export const closeBucket = (call: VolumeCall, trashed: AwsVolume): ApiResult<"closed" | "restored"> =>
  safeTry(async function* () {
    const { api, records, marks, config, clock } = call;
    const { id } = trashed;
    yield* await api.putPolicy(id, closedPolicy(config, id));
    yield* await replaceLifecycle(api, id, trashLifecycle(trashed, clock.now()));
    yield* await marks.remove(trashed);
    const { record } = yield* await records.change(id, "deleted", ({ state }) => state === "deleting");
    if (record?.state !== "live" && record?.state !== "restoring") {
      await abortUploads(call, id);
      return ok("closed" as const);
    }
    // The restore may have opened the bucket before this call closed it, so open it again.
    return reopenBucket(call, record).map(() => "restored" as const);
  });
