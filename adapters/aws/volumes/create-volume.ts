/**
 * Creates a volume in three steps: a record in the account's document, which claims the name; the record's bucket; and
 * a conditional write that makes the volume live. The call that wins this write has created the volume. The next call
 * for the name completes an interrupted creation.
 */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { timestampOf } from "../../../core/domain/wire/instant.ts";
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import { type Conflict, conflict, type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import type { StoredVolume } from "../../../core/ports/volume-store.ts";
import { err, errAsync, ok, okAsync, type ResultAsync, safeTry } from "../../../core/result.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import { bucketTags, liveLifecycle } from "./bucket-settings.ts";
import type { VolumeDeps } from "./deps.ts";
import { bucketName } from "./names.ts";
import { holderOf, type VolumeRecord, volumeOf } from "./record.ts";
import { type Decision, outcomeOf } from "./records.ts";
import { finishRestore } from "./restore-volume.ts";
import type { ApiResult } from "./s3-calls.ts";

type Creation = { readonly volume: StoredVolume; readonly created: boolean };
/** `again`: the state has changed; the caller must start over. */
type Attempt = ResultAsync<Creation | "again", Conflict | Unavailable>;

const TRIES = 10;
const PAUSE_MS = 250;

/** Claims the name. Returns the new record, or the record that already holds the name. */
const claim = (
  { records, ids, clock }: VolumeDeps,
  owner: AccountId,
  name: VolumeName,
  options: CallOptions,
): ApiResult<VolumeRecord> => {
  const id = bucketName(owner, name, ids.id());
  const decide = (all: readonly VolumeRecord[]): Decision<VolumeRecord> => {
    const holder = holderOf(all, name);
    if (holder === undefined) return { put: { id, name, state: "making", createdAt: timestampOf(clock.now()) } };
    return records.isForgotten(holder) ? { put: { ...holder, state: "live" } } : { stop: holder };
  };
  return records.change(accountDigest(owner), decide, options).map(outcomeOf);
};

/**
 * Creates and configures the bucket; reuses an existing one. Returns `again` while S3 does not show the new bucket
 * everywhere, `taken` if another AWS account owns a bucket of this name.
 */
const prepareBucket = (
  { api }: VolumeDeps,
  account: string,
  record: VolumeRecord,
  options: CallOptions,
): ApiResult<"created" | "again" | "taken"> =>
  safeTry(async function* () {
    const made = yield* await api.createBucket(record.id, bucketTags(account, record), options);
    if (made === "exists") return ok("taken" as const);
    if (made === "invalid")
      return err(unavailable("S3 rejected a new bucket. Check the AWS account's bucket quota.", 60));
    const steps = [
      () => api.blockPublicAccess(record.id, options),
      () => api.enableVersioning(record.id, options),
      () => api.putLifecycle(record.id, liveLifecycle(), options),
    ];
    for (const step of steps) if ((yield* await step()) === "not_found") return ok("again" as const);
    return ok("created" as const);
  });

const finish = (deps: VolumeDeps, owner: AccountId, record: VolumeRecord, options: CallOptions): Attempt =>
  safeTry(async function* () {
    const { records, marks } = deps;
    const account = accountDigest(owner);
    const made = yield* await prepareBucket(deps, account, record, options);
    if (made === "taken") return records.drop(account, record.id, options).map(() => "again" as const);
    if (made === "again") return ok("again" as const);
    yield* await marks.put(account, record, options);
    const end = yield* await records.changeVolume(
      account,
      record.id,
      (found) => (found?.state === "making" ? { put: { ...found, state: "live" } } : { stop: found?.state }),
      options,
    );
    if ("record" in end) return ok({ volume: volumeOf(end.record, owner), created: true });
    return ok(end.stop === "live" ? { volume: volumeOf(record, owner), created: false } : ("again" as const));
  });

const attempt = (deps: VolumeDeps, owner: AccountId, name: VolumeName, options: CallOptions): Attempt =>
  claim(deps, owner, name, options).andThen((record): Attempt => {
    switch (record.state) {
      case "live":
        return okAsync({ volume: volumeOf(record, owner), created: false });
      case "hidden":
        return errAsync(conflict(`'${name}' is being deleted. Try again in a moment.`));
      case "restoring":
        return finishRestore(deps, accountDigest(owner), record, options).map(() => "again");
      default:
        return finish(deps, owner, record, options);
    }
  });

export const createVolume = (
  deps: VolumeDeps,
  owner: AccountId,
  name: VolumeName,
  options: CallOptions,
): ResultAsync<Creation, Conflict | Unavailable> =>
  safeTry(async function* () {
    for (let tries = 0; tries < TRIES && options.signal?.aborted !== true; tries++) {
      if (tries > 0) await deps.clock.sleep(PAUSE_MS, options.signal);
      const made = yield* await attempt(deps, owner, name, options);
      if (made !== "again") return ok(made);
    }
    return err(unavailable(`Too many concurrent calls for the volume '${name}'. Try again.`));
  });
