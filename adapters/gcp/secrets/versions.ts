/**
 * The versions of a secret, as annotations of the secret: `v2` is `DIGEST.MILLISECONDS`. A version of Secret Manager
 * without an annotation does not count: its write failed, or it was deleted. Pure functions.
 */
import type { SecretVersion } from "../../../core/domain/secrets/secret.ts";
import { instantOfMillis, timestampOf } from "../../../core/domain/wire/instant.ts";

export type Annotations = Readonly<Record<string, string>>;

/**
 * "The total size of annotation keys and values must be less than 16KiB":
 * google/cloud/secretmanager/v1/resources.proto. A version needs at most 56 bytes.
 */
export const MAX_VERSIONS = 280;

const PREFIX = "hmac:";

export const renderVersion = (version: number, digest: string, millis: number): Annotations => ({
  [`v${version}`]: `${digest.slice(PREFIX.length)}.${millis}`,
});

/** Returns the versions, newest first. */
export const parseVersions = (annotations: Annotations = {}): SecretVersion[] =>
  Object.entries(annotations)
    .flatMap(([key, value]) => {
      const [, version] = /^v([1-9]\d{0,14})$/.exec(key) ?? [];
      const [, digest, millis] = /^([0-9a-f]{32})\.(\d{1,14})$/.exec(value) ?? [];
      if (version === undefined || millis === undefined) return [];
      const createdAt = timestampOf(instantOfMillis(Number(millis)));
      return [{ version: Number(version), digest: `${PREFIX}${digest}`, createdAt }];
    })
    .sort((a, b) => b.version - a.version);

export const withoutVersions = (annotations: Annotations, versions: readonly number[]): Annotations =>
  Object.fromEntries(Object.entries(annotations).filter(([key]) => !versions.some((one) => key === `v${one}`)));
