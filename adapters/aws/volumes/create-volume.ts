/**
 * Creates a volume in three steps: claims the name with a record in the account's document, creates the bucket, and
 * makes the volume live with a conditional write.
 */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { timestampOf } from "../../../core/domain/wire/instant.ts";
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import { unavailable } from "../../../core/errors.ts";
import { err, ok, safeTry } from "../../../core/result.ts";
import type { ApiResult } from "../../cloud/calls/expect-states.ts";
import type { Creation } from "../../cloud/volumes/driver.ts";
import { isForgotten } from "../../cloud/volumes/find-volume.ts";
import { holderOf } from "../../cloud/volumes/record.ts";
import { bucketTags, CORS_VERSION, corsRules, liveLifecycle } from "./bucket-settings.ts";
import { bucketName } from "./names.ts";
import { type AwsVolume, inState } from "./record.ts";
import type { VolumeCall } from "./volume-call.ts";

type Attempt = ApiResult<Creation<AwsVolume>>;

const PAUSE_MS = 250;

/** Claims the name. Returns the new record, or the record that already holds the name. */
const claim = ({ records, ids, clock }: VolumeCall, owner: AccountId, name: VolumeName): ApiResult<AwsVolume> => {
  const id = bucketName(owner, name, ids.id());
  return records
    .update<AwsVolume>((all) => {
      const holder = holderOf(all, name);
      if (holder === undefined)
        return { put: { id, name, state: "making", createdAt: timestampOf(clock.now()), cors: CORS_VERSION } };
      return isForgotten(records)(holder) ? { put: inState(holder, "live") } : { stop: holder };
    })
    .map((end) => ("record" in end ? end.record : end.stop));
};

/**
 * Creates and configures the bucket; reuses an existing one. Returns `created` on success, `again` while the new bucket
 * is not visible in all of S3, and `taken` if another AWS account owns a bucket of this name.
 */
const prepareBucket = ({ account, api }: VolumeCall, record: AwsVolume): ApiResult<"created" | "again" | "taken"> =>
  safeTry(async function* () {
    const made = yield* await api.createBucket(record.id, bucketTags(account, record));
    if (made === "exists") return ok("taken" as const);
    if (made === "invalid")
      return err(unavailable("S3 rejected a new bucket. Check the AWS account's bucket quota.", 60));
    const steps = [
      () => api.blockPublicAccess(record.id),
      () => api.enableVersioning(record.id),
      () => api.putLifecycle(record.id, { rules: liveLifecycle(), minimumSize: undefined }),
      () => api.putCors(record.id, corsRules()),
    ];
    for (const step of steps) if ((yield* await step()) === "not_found") return ok("again" as const);
    return ok("created" as const);
  });

const finish = (call: VolumeCall, record: AwsVolume): Attempt =>
  safeTry(async function* () {
    const { clock, records, marks, options } = call;
    const made = yield* await prepareBucket(call, record);
    if (made === "taken") return records.drop(record.id).map(() => "again" as const);
    if (made === "again") {
      await clock.sleep(PAUSE_MS, options.signal);
      return ok("again" as const);
    }
    yield* await marks.put(record);
    const end = yield* await records.change(record.id, "live", ({ state }) => state === "making");
    return ok(end.record?.state === "live" ? { record: end.record, created: end.changed } : ("again" as const));
  });

export const createVolume = (call: VolumeCall, owner: AccountId, name: VolumeName): Attempt =>
  safeTry(async function* () {
    const record = yield* await claim(call, owner, name);
    return record.state === "making" ? finish(call, record) : ok({ record, created: false });
  });
