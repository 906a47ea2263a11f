/** Names of the source, the image and the log of a build. Pure functions. */
import { createHash } from "node:crypto";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { accountDigest } from "../../../shared/accounts/account-digest.ts";
import type { GcpConfig } from "../../config.ts";
import { parentOf } from "../../location.ts";

/** Increment this version when the builder changes. Existing sources then get new image tags and are built again. */
const BUILDER_VERSION = "3";

export type RepositoryConfig = Pick<GcpConfig, "project" | "region" | "repository">;
type Named = RepositoryConfig & Pick<GcpConfig, "stagingBucket">;

/** The hexadecimal part of `sha256:HEX`. */
const hexOf = (digest: string): string => digest.slice(digest.indexOf(":") + 1);

const packageOf = (owner: AccountId): string => `account-${accountDigest(owner)}`;

const tagOf = (digest: string): string =>
  createHash("sha256")
    .update(`${BUILDER_VERSION}\0${hexOf(digest)}`)
    .digest("hex");

/**
 * Colons of a domain-scoped project become slashes: https://docs.cloud.google.com/artifact-registry/docs/docker/names
 */
const referenceOf = ({ region, project, repository }: RepositoryConfig, owner: AccountId): string =>
  `${region}-docker.pkg.dev/${project.replaceAll(":", "/")}/${repository}/${packageOf(owner)}`;

/** The reference under which a build pushes a source's image. */
export const imageOf = (config: RepositoryConfig, owner: AccountId, digest: string): string =>
  `${referenceOf(config, owner)}:${tagOf(digest)}`;

/** The reference of an image by its own digest. A later build of the same source does not change it. */
export const imageAt = (config: RepositoryConfig, owner: AccountId, imageDigest: string): string =>
  `${referenceOf(config, owner)}@${imageDigest}`;

/** Returns the digest of a reference from `imageAt`, or undefined for other references. */
export const imageDigestIn = (config: RepositoryConfig, owner: AccountId, image: string): string | undefined => {
  const start = `${referenceOf(config, owner)}@`;
  return image.startsWith(start) ? image.slice(start.length) : undefined;
};

/** The resource name of the package with all images of an account. */
export const packageNameOf = (config: RepositoryConfig, owner: AccountId): string =>
  `${parentOf(config)}/repositories/${config.repository}/packages/${packageOf(owner)}`;

/** The resource name of the tag for a source's image: google/devtools/artifactregistry/v1/tag.proto. */
export const tagNameOf = (config: RepositoryConfig, owner: AccountId, digest: string): string =>
  `${packageNameOf(config, owner)}/tags/${tagOf(digest)}`;

export const sourceObjectOf = (owner: AccountId, digest: string): string =>
  `sources/${accountDigest(owner)}/${hexOf(digest)}.tar.gz`;

const LOG_FOLDER = "logs";
export const logsBucketOf = (config: Named): string => `gs://${config.stagingBucket}/${LOG_FOLDER}`;

/** "Logs file names will be of the format `${logs_bucket}/log-${build_id}.txt`": cloudbuild.proto. */
export const logObjectOf = (buildId: string): string => `${LOG_FOLDER}/log-${buildId}.txt`;
