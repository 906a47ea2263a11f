/**
 * References to images: by digest, by the tag that protects the image (`keepTagOf`) or, in records of earlier versions,
 * by the tag of a source. Pure.
 */
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { accountDigest } from "../../../shared/accounts/account-digest.ts";
import { parseRecord } from "../records/record.ts";
import { retained } from "../records/releases.ts";

const TAG = "[0-9a-f]{32}-[0-9a-f]{64}";
const DIGEST = "sha256:[0-9a-f]{64}";

/** True if Portside created the tag, which consists of an account's digest and the digest of a source or an image. */
export const isOwnTag = (tag: string): boolean => new RegExp(`^${TAG}$`).test(tag);

/** An identifier of an image in ECR. */
export type ImageId = { readonly imageDigest: string } | { readonly imageTag: string };

/** Returns ECR's id of an image. Returns undefined if Portside did not build the image. */
export const imageIdOf = (image: string): ImageId | undefined => {
  const imageDigest = new RegExp(`@(${DIGEST})$`).exec(image)?.[1];
  if (imageDigest !== undefined) return { imageDigest };
  const imageTag = new RegExp(`:(${TAG})$`).exec(image)?.[1];
  return imageTag === undefined ? undefined : { imageTag };
};

/** Returns the tag that protects an account's image from clean-ups. A tag has 97 characters; ECR allows 128. */
export const keepTagOf = (owner: AccountId, imageDigest: string): string =>
  `${accountDigest(owner)}-${imageDigest.slice(imageDigest.indexOf(":") + 1)}`;

const matchesIn = (text: string): readonly string[] => text.match(new RegExp(`${TAG}|(?<=@)${DIGEST}`, "g")) ?? [];

/**
 * Returns the tags and digests of the images that a deployment needs: those of revisions that may serve, and those of
 * kept releases. Also works for a record that this version cannot parse.
 * @param kept the setting `releasesKept`
 */
export const imagesIn = (name: string, text: string, kept: number): readonly string[] => {
  const record = parseRecord(name, text);
  if (record === undefined) return matchesIn(text);
  if (record.kind === "freed") return [];
  const templates = [record.attempted, ...record.former.map(({ template }) => template)];
  const released = retained(record.releases, kept).releases.map(({ image }) => image);
  return [...templates.map(({ image }) => image), ...released].flatMap((image) => matchesIn(image ?? ""));
};
