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
import { err, ok, type Result } from "../../../core/result.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import { bucketTags, liveLifecycle } from "./bucket-settings.ts";
import type { VolumeDeps } from "./deps.ts";
import { bucketName } from "./names.ts";
import { holderOf, type VolumeRecord, volumeOf } from "./record.ts";
import type { Decision } from "./records.ts";
import { finishRestore } from "./restore-volume.ts";
import type { ApiResult } from "./s3-calls.ts";

type Creation = { readonly volume: StoredVolume; readonly created: boolean };
/** `again`: the state has changed; the caller must start over. */
type Attempt = Promise<Result<Creation | "again", Conflict | Unavailable>>;

const TRIES = 10;
const PAUSE_MS = 250;

/** Claims the name. Returns the new record, or the record that already holds the name. */
const claim = async ({ records, ids, clock }: VolumeDeps, owner: AccountId, name: VolumeName, options: CallOptions) => {
  const id = bucketName(owner, name, ids.id());
  const decide = (all: readonly VolumeRecord[]): Decision<VolumeRecord> => {
    const holder = holderOf(all, name);
    if (holder === undefined) return { put: { id, name, state: "making", createdAt: timestampOf(clock.now()) } };
    return records.isForgotten(holder) ? { put: { ...holder, state: "live" } } : { stop: holder };
  };
  const end = await records.change(accountDigest(owner), decide, options);
  return end.map((found) => ("record" in found ? found.record : found.stop));
};

const bucketRejected = (error: unknown): Unavailable =>
  unavailable("S3 rejected a new bucket. Check the AWS account's bucket quota.", 60, error);

/**
 * Creates and configures the bucket; reuses an existing one. Returns `again` while S3 does not show the new bucket
 * everywhere, `taken` if another AWS account owns a bucket of this name.
 */
const prepareBucket = async (
  { api }: VolumeDeps,
  account: string,
  record: VolumeRecord,
  options: CallOptions,
): ApiResult<"created" | "again" | "taken"> => {
  const made = await api.createBucket(record.id, bucketTags(account, record), options);
  if (made.isErr()) return err(made.error);
  if (made.value === "exists") return ok("taken");
  if (made.value === "invalid") return err(bucketRejected(undefined));
  const steps = [
    () => api.blockPublicAccess(record.id, options),
    () => api.enableVersioning(record.id, options),
    () => api.putLifecycle(record.id, liveLifecycle(), options),
  ];
  for (const step of steps) {
    const done = await step();
    if (done.isErr()) return err(done.error);
    if (done.value === "not_found") return ok("again");
  }
  return ok("created");
};

const finish = async (deps: VolumeDeps, owner: AccountId, record: VolumeRecord, options: CallOptions): Attempt => {
  const { records, marks } = deps;
  const account = accountDigest(owner);
  const made = await prepareBucket(deps, account, record, options);
  if (made.isErr()) return err(made.error);
  if (made.value === "taken") return (await records.drop(account, record.id, options)).map(() => "again" as const);
  if (made.value === "again") return ok("again");
  const marked = await marks.put(account, record, options);
  if (marked.isErr()) return err(marked.error);
  const madeLive = await records.change<"live" | "again">(
    account,
    (all) => {
      const found = all.find((one) => one.id === record.id);
      if (found?.state === "making") return { put: { ...found, state: "live" } };
      return { stop: found?.state === "live" ? "live" : "again" };
    },
    options,
  );
  return madeLive.map((end): Creation | "again" => {
    if ("record" in end) return { volume: volumeOf(end.record, owner), created: true };
    return end.stop === "live" ? { volume: volumeOf(record, owner), created: false } : "again";
  });
};

const attempt = async (deps: VolumeDeps, owner: AccountId, name: VolumeName, options: CallOptions): Attempt => {
  const found = await claim(deps, owner, name, options);
  if (found.isErr()) return err(found.error);
  const record = found.value;
  switch (record.state) {
    case "live":
      return ok({ volume: volumeOf(record, owner), created: false });
    case "hidden":
      return err(conflict(`'${name}' is being deleted. Try again in a moment.`));
    case "restoring":
      return (await finishRestore(deps, accountDigest(owner), record, options)).map(() => "again" as const);
    default:
      return finish(deps, owner, record, options);
  }
};

export const createVolume = async (
  deps: VolumeDeps,
  owner: AccountId,
  name: VolumeName,
  options: CallOptions,
): Promise<Result<Creation, Conflict | Unavailable>> => {
  for (let tries = 0; tries < TRIES && options.signal?.aborted !== true; tries++) {
    if (tries > 0) await deps.clock.sleep(PAUSE_MS, options.signal);
    const made = await attempt(deps, owner, name, options);
    if (made.isErr()) return err(made.error);
    if (made.value !== "again") return ok(made.value);
  }
  return err(unavailable(`Too many concurrent calls for the volume '${name}'. Try again.`));
};
