/**
 * The versions of a secret, as annotations of the secret: `v2` is `DIGEST.MILLISECONDS`. Secret Manager's own list may
 * contain a version without an annotation. Such a version does not count: its write failed, or it was deleted. Pure
 * functions.
 */
import { type AccountId, isAccount } from "../../../core/domain/accounts/account.ts";
import type { SecretVersion } from "../../../core/domain/secrets/secret.ts";
import { instantOfMillis, timestampOf } from "../../../core/domain/wire/instant.ts";

export type Annotations = Readonly<Record<string, string>>;

/** Changed annotations; undefined for a removed one. */
export type Changes = Readonly<Record<string, string | undefined>>;

/** A version in Secret Manager that contains a value. */
export interface EnabledVersion {
  readonly version: number;
  readonly createdMillis: number;
}

/**
 * "The total size of annotation keys and values must be less than 16KiB":
 * google/cloud/secretmanager/v1/resources.proto. A version whose number has at most nine digits needs
 * at most 56 bytes, and the redeploys need at most 280.
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

export const deletionOf = (versions: readonly number[]): Changes =>
  Object.fromEntries(versions.map((version) => [`v${version}`, undefined]));

export const withChanges = (annotations: Annotations = {}, changes: Changes): Annotations =>
  Object.fromEntries(
    Object.entries({ ...annotations, ...changes }).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );

/**
 * The annotation with the unfinished redeploys: `VERSION ACCOUNT`. It contains the account, because the secret's id
 * contains only the account's digest.
 */
const REDEPLOYS = "redeploys";

interface Recorded {
  readonly owner: AccountId;
  readonly version: number;
}

export const renderRedeploys = ({ owner, version }: Recorded): Changes => ({ [REDEPLOYS]: `${version} ${owner}` });

export const withoutRedeploys: Changes = { [REDEPLOYS]: undefined };

export const parseRedeploys = (annotations: Annotations = {}): Recorded | undefined => {
  const [, version, owner] = /^([1-9]\d{0,14}) (.+)$/.exec(annotations[REDEPLOYS] ?? "") ?? [];
  return isAccount(owner) ? { owner, version: Number(version) } : undefined;
};

/** Milliseconds after which a version without an annotation is abandoned. Until then, a running call may list it. */
const ABANDONED_MS = 10 * 60_000;

/** Returns the old versions that are not listed. A failed call left them behind. */
export const abandonedVersions = (
  enabled: readonly EnabledVersion[],
  annotations: Annotations,
  nowMillis: number,
): readonly number[] => {
  const listed = new Set(parseVersions(annotations).map(({ version }) => version));
  return enabled
    .filter(({ version, createdMillis }) => !listed.has(version) && createdMillis + ABANDONED_MS < nowMillis)
    .map(({ version }) => version);
};
