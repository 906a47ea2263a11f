/**
 * Calls to Secrets Manager: https://docs.aws.amazon.com/secretsmanager/latest/apireference/. One secret holds one
 * version of a Portside secret, and never changes. Secrets use the key `aws/secretsmanager`, to which "all users and
 * roles in the Amazon Web Services account automatically have access" (API_CreateSecret).
 */
import { randomUUID } from "node:crypto";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { ResultAsync } from "../../../core/result.ts";
import { OWNER_LABEL } from "../../cloud/deploy/labels.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import { type AwsRuntimeDeps, awsCalls, type Called, commandSender, nameOf } from "../call-policy.ts";
import { type ClientSource, sendCommand } from "../clients.ts";

export interface SecretsManager {
  /**
   * Creates a secret with its only value, and returns its ARN. Fails with `exists` if another call has created it.
   *
   * @param owner the account whose services may read the secret; undefined for a secret of the installation
   */
  create(id: string, value: string, owner: AccountId | undefined, options: CallOptions): Called<string>;
  /** Fails with `not_found` or `invalid` if the secret does not exist or is scheduled for deletion. */
  read(idOrArn: string, options: CallOptions): Called<string>;
  /** Succeeds if the secret does not exist. */
  remove(id: string, options: CallOptions): Called<void>;
}

interface Failure extends Error {
  readonly $metadata?: unknown;
  readonly $response?: { readonly headers?: unknown };
}

/** Errors whose message may quote a parameter, and therefore the secret's value. */
const QUOTING = /^(Invalid|Validation|Serialization)/;

/** Returns an error without the parts that may contain the value. */
const withoutValue = (error: unknown, value: string): unknown => {
  if (!(error instanceof Error)) return error;
  const { name, message, $metadata, $response } = error as Failure;
  const isSafe = !QUOTING.test(name) && !message.includes(value);
  const kept = {
    name,
    ...("code" in error ? { code: error.code } : {}),
    ...($metadata === undefined ? {} : { $metadata }),
    ...($response === undefined ? {} : { $response: { headers: $response.headers } }),
  };
  return Object.assign(new Error(isSafe ? message : `${name} (the message may contain the value)`), kept);
};

export const createSecretsManager = (clients: ClientSource, runtime: AwsRuntimeDeps): SecretsManager => {
  const call = awsCalls(runtime);
  const send = commandSender("secrets", "secretsmanager", clients, call);

  return {
    create: (id, value, owner, { signal }) => {
      const tags = owner === undefined ? [] : [{ Key: OWNER_LABEL, Value: accountDigest(owner) }];
      const input = {
        Name: id,
        SecretString: value,
        // "If a version with this value already exists and the version SecretString [is] the same [...], then the
        // request is ignored", so a retry after a lost response succeeds.
        ClientRequestToken: randomUUID(),
        ...(tags.length === 0 ? {} : { Tags: tags }),
      };
      return new ResultAsync(
        call({ what: "secretsmanager.CreateSecret", signal }, async () => {
          try {
            return await sendCommand(clients, "secrets", "CreateSecretCommand", input, signal);
          } catch (error) {
            throw withoutValue(error, value);
          }
        }),
      ).map(({ ARN = "" }) => ARN);
    },

    read: (SecretId, { signal }) =>
      send("GetSecretValueCommand", { SecretId }, { signal }).map(({ SecretString = "" }) => SecretString),

    // A deleted value must not be recoverable, so the secret gets no recovery window (otherwise 7 to 30 days).
    // "If you forcibly delete an already deleted or nonexistent secret, the operation does not return
    // ResourceNotFoundException" (API_DeleteSecret). The deletion is asynchronous, which does not matter, because no
    // name is used twice.
    remove: (SecretId, { signal }) =>
      send("DeleteSecretCommand", { SecretId, ForceDeleteWithoutRecovery: true }, { signal }).map(() => undefined),
  };
};

/** Returns whether the AWS account has as many secrets as its quota allows (API_CreateSecret). */
export const isQuota = (error: unknown): boolean => nameOf(error) === "LimitExceededException";
