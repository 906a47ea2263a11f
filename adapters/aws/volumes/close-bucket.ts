/** Closes the bucket of a volume in the trash, so that signed URLs no longer work. */
import { ok, safeTry } from "../../../core/result.ts";
import type { ApiResult } from "../../cloud/calls/expect-states.ts";
import { closedPolicy, trashLifecycle } from "./bucket-settings.ts";
import type { AwsVolume } from "./record.ts";
import { reopenBucket } from "./restore-volume.ts";
import type { VolumeCall } from "./volume-call.ts";

/** Closes the bucket and removes the name's mark. Returns `restored` if a concurrent call restored the volume. */
export const closeBucket = (call: VolumeCall, trashed: AwsVolume): ApiResult<"closed" | "restored"> =>
  safeTry(async function* () {
    const { api, records, marks, config, clock } = call;
    const { id } = trashed;
    yield* await api.putPolicy(id, closedPolicy(config, id));
    yield* await api.putLifecycle(id, trashLifecycle(trashed, clock.now()));
    yield* await marks.remove(trashed);
    const { record } = yield* await records.change(id, "deleted", ({ state }) => state === "deleting");
    if (record?.state !== "live" && record?.state !== "restoring") return ok("closed" as const);
    // This call may have closed the bucket after the restore opened it.
    return reopenBucket(call, record).map(() => "restored" as const);
  });
