/** The record of a volume, and the rules of its states. Pure functions. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { Instant, Timestamp } from "../../../core/domain/wire/instant.ts";
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import type { StoredVolume } from "../../../core/ports/volume-store.ts";

/**
 * `making`: being created, not visible yet. `live`: visible. `hidden`: a delete is in progress and may still be
 * aborted. `deleting`: in the trash, its bucket is being closed. `deleted`: in the trash, its bucket is closed.
 * `restoring`: leaving the trash. `purging`: no longer visible, its bucket is being deleted.
 */
export const recordStates = ["making", "live", "hidden", "deleting", "deleted", "restoring", "purging"] as const;

export type RecordState = (typeof recordStates)[number];

export interface VolumeRecord {
  /** The bucket's name. */
  readonly id: string;
  readonly name: VolumeName;
  readonly state: RecordState;
  /** The id of the call that set the state. */
  readonly call: string;
  /** When the state was set. */
  readonly at: Instant;
  readonly createdAt: Timestamp;
  /** Set while the volume is in the trash. */
  readonly deletedAt?: Timestamp;
}

/** States that hold a name, by precedence. */
const order: readonly RecordState[] = ["live", "hidden", "restoring", "making"];

/** Returns the volume that holds the name, or undefined if the name is free. */
export const holderOf = <R extends VolumeRecord>(all: readonly R[], name: VolumeName): R | undefined =>
  order.flatMap((state) => all.find((one) => one.name === name && one.state === state) ?? [])[0];

export const isInTrash = ({ state }: VolumeRecord): boolean =>
  state === "deleting" || state === "deleted" || state === "restoring";

export const volumeOf = ({ id, name, createdAt }: VolumeRecord, owner: AccountId): StoredVolume => ({
  id,
  name,
  owner,
  createdAt,
});
