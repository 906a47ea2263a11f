/** The URL of an upload that goes in one piece, as all that tests send do. */
import type { UploadGrant } from "../../core/domain/volumes/volume.ts";

export const inOnePiece = (grant: UploadGrant): Extract<UploadGrant, { readonly url: string }> => {
  if ("url" in grant) return grant;
  throw new Error("the storage wants it in parts");
};
