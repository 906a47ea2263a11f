/** Names of secrets in Secrets Manager, and the permission to read the secrets of an account. Pure. */
import { createHash } from "node:crypto";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { SecretName } from "../../../core/domain/wire/names.ts";
import { ownerDigits } from "../accounts/owner-digits.ts";
import type { ArnParts } from "../arns.ts";
import type { AwsConfig } from "../config.ts";

/** The settings on which the names of an installation's secrets depend. */
export type SecretsConfig = Pick<AwsConfig, "region" | "shared">;

const shortDigest = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 8);

/** Distinguishes the installations in an AWS account. Each installation has its own state bucket. */
export const installationDigits = ({ shared }: Pick<AwsConfig, "shared">): string => shortDigest(shared.stateBucket);

const folderOf = (config: SecretsConfig): string => `portside/${installationDigits(config)}/`;

/** The secret that stores the HMAC key for digests. */
export const digestKeyId = (config: SecretsConfig): string => `${folderOf(config)}digest-key`;

/** The prefix of an account's secret names. */
const ownFolder = (config: SecretsConfig, owner: AccountId): string => `${folderOf(config)}${ownerDigits(owner)}/`;

/**
 * "The secret name can contain ASCII letters, numbers, and the following characters: /_+=.@-", and should not end "with
 * a hyphen followed by six characters":
 * https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_CreateSecret.html. The digest distinguishes names
 * that differ only in case, because the page does not state that case matters.
 */
export const secretIdOf = (config: SecretsConfig, owner: AccountId, name: SecretName, version: number): string =>
  `${ownFolder(config, owner)}${name}.${shortDigest(name)}/${version}`;

/** The ARNs of an account's secrets. "SecretId" in an ARN is the name and six random characters. */
export const ownSecretArns = (config: SecretsConfig, { partition, account }: ArnParts, owner: AccountId): string =>
  `arn:${partition}:secretsmanager:${config.region}:${account}:secret:${ownFolder(config, owner)}*`;
