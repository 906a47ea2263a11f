/** Names of the source, the image and the log of a build. Pure functions. */
import { createHash } from "node:crypto";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { accountDigest } from "../../../shared/accounts/account-digest.ts";
import type { GcpConfig } from "../../config.ts";
import { parentOf } from "../../location.ts";

/** Increment this version when the builder changes. Existing sources then get new image tags and are built again. */
const BUILDER_VERSION = "3";

type Named = Pick<GcpConfig, "project" | "region" | "repository" | "stagingBucket">;

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
export const imageOf = (config: Named, owner: AccountId, digest: string): string =>
  `${config.region}-docker.pkg.dev/${config.project.replaceAll(":", "/")}/${config.repository}/${packageOf(owner)}:${tagOf(digest)}`;

/** The resource name of the image's tag: google/devtools/artifactregistry/v1/tag.proto. */
export const tagNameOf = (config: Named, owner: AccountId, digest: string): string => {
  const repository = `${parentOf(config)}/repositories/${config.repository}`;
  return `${repository}/packages/${packageOf(owner)}/tags/${tagOf(digest)}`;
};

export const sourceObjectOf = (owner: AccountId, digest: string): string =>
  `sources/${accountDigest(owner)}/${hexOf(digest)}.tar.gz`;

const LOG_FOLDER = "logs";
export const logsBucketOf = (config: Named): string => `gs://${config.stagingBucket}/${LOG_FOLDER}`;

/** "Logs file names will be of the format `${logs_bucket}/log-${build_id}.txt`": cloudbuild.proto. */
export const logObjectOf = (buildId: string): string => `${LOG_FOLDER}/log-${buildId}.txt`;
