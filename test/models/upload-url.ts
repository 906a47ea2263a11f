/** The URL of a single-request upload. Test content is always small enough for one. */
import type { UploadGrant } from "../../core/domain/volumes/volume.ts";

export const inOnePiece = (grant: UploadGrant): Extract<UploadGrant, { readonly url: string }> => {
  if ("url" in grant) return grant;
  throw new Error("the storage requires a multipart upload");
};
