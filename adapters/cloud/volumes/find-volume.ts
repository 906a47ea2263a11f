/** Finds the volume that a name refers to. Reveals a volume that was hidden for too long. */
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import { okAsync } from "../../../core/result.ts";
import type { ApiResult } from "../calls/expect-states.ts";
import type { VolumeRecords } from "./driver.ts";
import { holderOf, type VolumeRecord } from "./record.ts";

/** Milliseconds after which a hidden volume reappears if the delete is neither completed nor aborted. */
const HIDDEN_MS = 60_000;

/** True if the volume has been hidden for so long that it must reappear. */
export const isForgotten =
  ({ ageOf }: Pick<VolumeRecords<VolumeRecord>, "ageOf">) =>
  ({ state, at }: VolumeRecord): boolean =>
    state === "hidden" && ageOf(at) >= HIDDEN_MS;

/** Reveals the volume if it was hidden for too long. Returns its record, or undefined if the volume is deleted. */
export const revealIfForgotten = <R extends VolumeRecord>(
  records: VolumeRecords<R>,
  record: R,
): ApiResult<R | undefined> =>
  isForgotten(records)(record)
    ? records.change(record.id, "live", isForgotten(records)).map((end) => end.record)
    : okAsync(record);

/** Returns the record that holds the name, or undefined if the name is free. */
export const holder = <R extends VolumeRecord>(records: VolumeRecords<R>, name: VolumeName): ApiResult<R | undefined> =>
  records.all(name).andThen((all) => {
    const found = holderOf(all, name);
    return found === undefined ? okAsync(undefined) : revealIfForgotten(records, found);
  });
