/**
 * An index from volume names to accounts: one empty object per volume, so that one listing shows whether another
 * account uses a name. The mark exists from before the volume is live until after it stops being live. Each mark
 * belongs to one volume, so concurrent calls cannot remove each other's.
 */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { marksPrefix, ownMarksPrefix } from "./names.ts";
import type { VolumeRecord } from "./record.ts";
import type { ApiResult, S3Api } from "./s3-calls.ts";

type Marked = Pick<VolumeRecord, "id" | "name">;

export class Marks {
  readonly #api: S3Api;
  readonly #bucket: string;

  /** @param bucket the state bucket */
  constructor(api: S3Api, bucket: string) {
    this.#api = api;
    this.#bucket = bucket;
  }

  put(account: string, volume: Marked, options: CallOptions): ApiResult<void> {
    const key = this.#key(account, volume);
    return this.#api.putText(this.#bucket, key, "", undefined, options).map(() => undefined);
  }

  remove(account: string, volume: Marked, options: CallOptions): ApiResult<void> {
    return this.#api.deleteKey(this.#bucket, this.#key(account, volume), options);
  }

  /** Returns whether another account has a volume of this name. */
  isHeldByOther(owner: AccountId, name: VolumeName, options: CallOptions): ApiResult<boolean> {
    // Each account is one common prefix, so two suffice.
    const query = { Prefix: marksPrefix(name), Delimiter: "/", MaxKeys: 2 };
    const own = ownMarksPrefix(owner, name);
    return this.#api
      .keys(this.#bucket, query, options)
      .map(({ CommonPrefixes = [] }) => CommonPrefixes.some(({ Prefix }) => Prefix !== own));
  }

  #key(account: string, { id, name }: Marked): string {
    return `${marksPrefix(name)}${account}/${id}`;
  }
}
