/**
 * An index from volume names to accounts: one empty object per volume. One listing shows whether another account uses a
 * name. A mark is created before its volume becomes live, and removed after the volume stops being live. Each mark
 * belongs to one volume, so concurrent calls cannot remove each other's marks.
 */
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import type { ApiResult } from "../../cloud/calls/expect-states.ts";
import { marksPrefix } from "./names.ts";
import type { AwsVolume } from "./record.ts";
import type { S3Api } from "./s3-calls.ts";

type Marked = Pick<AwsVolume, "id" | "name">;

/** The marks of an account. */
export class Marks {
  readonly #api: S3Api;
  readonly #bucket: string;
  readonly #account: string;

  /**
   * @param bucket the state bucket
   * @param account the digest of the account
   */
  constructor(api: S3Api, bucket: string, account: string) {
    this.#api = api;
    this.#bucket = bucket;
    this.#account = account;
  }

  put({ id, name }: Marked): ApiResult<void> {
    return this.#api.putText(this.#bucket, this.#prefix(name) + id, "", undefined).map(() => undefined);
  }

  remove({ id, name }: Marked): ApiResult<void> {
    return this.#api.deleteKey(this.#bucket, this.#prefix(name) + id);
  }

  /** Returns whether another account has a volume of this name. */
  isHeldByOther(name: VolumeName): ApiResult<boolean> {
    // Each account is one common prefix, so two results suffice to find another account.
    const query = { Prefix: marksPrefix(name), Delimiter: "/", MaxKeys: 2 };
    return this.#api
      .keys(this.#bucket, query)
      .map(({ CommonPrefixes = [] }) => CommonPrefixes.some(({ Prefix }) => Prefix !== this.#prefix(name)));
  }

  #prefix(name: VolumeName): string {
    return `${marksPrefix(name)}${this.#account}/`;
  }
}
