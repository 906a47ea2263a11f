/**
 * `SecretStore` on Secrets Manager. Each version is a separate secret, so the value of a version never changes, and the
 * services of an account keep the versions that they pin. The state bucket contains the list of versions
 * (secret-index.ts), because S3 is strongly consistent and its writes can be conditional.
 *
 * `set` reserves a number in the list, creates the secret, and then lists the version. If `set` fails before the last
 * step, the list names the secret as a leftover, and a later change of the account's secrets deletes it.
 */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { PinnedSecrets } from "../../../core/domain/secrets/references.ts";
import type { SecretVersion, StoredSecret } from "../../../core/domain/secrets/secret.ts";
import { instantOfMillis, millisOf, timestampOf } from "../../../core/domain/wire/instant.ts";
import {
  type Conflict,
  conflict,
  type NotFound,
  notFound,
  type Unavailable,
  unavailable,
} from "../../../core/errors.ts";
import type { SecretStore } from "../../../core/ports/secret-store.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok, type Result, type ResultAsync, safeTry } from "../../../core/result.ts";
import { inParallel } from "../../cloud/calls/in-parallel.ts";
import { isCallState } from "../../cloud/calls/provider-call.ts";
import { createDigestKey } from "../../cloud/secrets/digest-key.ts";
import { createRejectedCalls } from "../../cloud/secrets/rejected-calls.ts";
import { secretDigest } from "../../shared/secrets/secret-digest.ts";
import type { Identities } from "../accounts/identities.ts";
import { type AwsRuntimeDeps, awsCalls } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import { stateBucket } from "../state/state-bucket.ts";
import { digestKeyId, type SecretsConfig, secretIdOf } from "./names.ts";
import { createPendingRedeploys } from "./pending-redeploys.ts";
import {
  claimed,
  claimedIds,
  committed,
  type IndexedVersion,
  knowsName,
  nextNumber,
  publicVersion,
  removed,
  reserved,
  type SecretIndex,
  storedSecrets,
  versionsOf,
  without,
} from "./secret-index.ts";
import { createSecretsManager, isQuota } from "./secrets-manager.ts";
import { createStoredIndex } from "./stored-index.ts";

/** The operations on secrets that a rollout needs. */
export interface RolloutSecrets {
  /** Returns the ARNs of the pinned versions, by variable. Omits the versions that do not exist. */
  arns(
    owner: AccountId,
    pins: PinnedSecrets,
    options: CallOptions,
  ): ResultAsync<ReadonlyMap<string, string>, Unavailable>;
  /** Returns the values of the pinned versions. The caller must not pass them on. */
  values(owner: AccountId, pins: PinnedSecrets): ResultAsync<readonly string[], Unavailable>;
}

/** Maximum number of concurrent calls to Secrets Manager. */
const CONCURRENCY = 8;

/** Limits the size of an account's list. A deleted secret counts, because the list keeps the secret's next number. */
const MAX_NAMES = 1000;

export const createAwsSecrets = (
  config: SecretsConfig,
  clients: ClientSource,
  runtime: AwsRuntimeDeps,
  identities: Pick<Identities, "ensureExecution">,
): SecretStore & RolloutSecrets => {
  const { clock, ids, logger } = runtime;
  const bucket = stateBucket(config.shared.stateBucket, clients, awsCalls(runtime));
  const indexes = createStoredIndex(bucket, runtime);
  const manager = createSecretsManager(clients, runtime);
  const { asUnavailable, ifAbsent } = createRejectedCalls({
    store: "Secrets Manager",
    logger,
    explain: (error) =>
      isQuota(error)
        ? "The AWS account has reached its quota of secrets. Delete secrets, or ask the operator to raise the quota."
        : undefined,
  });
  const keyId = digestKeyId(config);
  const digestKey = createDigestKey({
    read: (options) => manager.read(keyId, options).orElse(ifAbsent<string | null>(null)),
    create: (key, options) =>
      manager
        .create(keyId, key.toString("hex"), undefined, options)
        .map(() => undefined)
        // Another server has created the key.
        .orElse((error) => (isCallState(error) && error.code === "exists" ? ok(undefined) : asUnavailable(error))),
  });
  const now = (): number => millisOf(clock.now());

  /**
   * Deletes the secrets that earlier calls have left behind, and those of deleted versions. Deletes only secrets that
   * the caller has claimed in the list, because a slow `set` may still list the others.
   */
  const deleteClaimed = (owner: AccountId, index: SecretIndex, claim: string, options: CallOptions) =>
    safeTry<void, Unavailable>(async function* () {
      const secrets = claimedIds(index, claim);
      if (secrets.length === 0) return ok(undefined);
      yield* await inParallel(secrets, CONCURRENCY, (id) => manager.remove(id, options).orElse(asUnavailable));
      yield* await indexes.update(owner, (seen) => ok<SecretIndex, never>(without(seen, claim)), options);
      return ok(undefined);
    });

  /** Returns false if the value was deleted or scheduled for deletion in AWS. */
  const exists = (arn: string, options: CallOptions) =>
    manager
      .read(arn, options)
      .map(() => true)
      .orElse((error) => (isCallState(error) ? ok<boolean, Unavailable>(false) : err(error)));

  const set: SecretStore["set"] = (owner, name, value, options = {}) =>
    safeTry<SecretVersion, Conflict | Unavailable>(async function* () {
      // Even if the value is unchanged, this repairs a role or permission that an operator has deleted.
      yield* await identities.ensureExecution(owner, options);
      const digest = secretDigest(yield* await digestKey(options), owner, name, value);
      const before = yield* await indexes.read(owner, options);
      const [newest] = versionsOf(before, name);
      if (newest?.digest === digest && (yield* await exists(newest.arn, options))) return ok(publicVersion(newest));

      let version = 0;
      let id = "";
      const reserve = (index: SecretIndex): Result<SecretIndex, Conflict> => {
        if (!knowsName(index, name) && Object.keys(index.names).length >= MAX_NAMES)
          return err(
            conflict(
              `Your account has used ${MAX_NAMES} names of secrets, which is the maximum. Use the name of an existing or deleted secret.`,
            ),
          );
        version = nextNumber(index, name);
        id = secretIdOf(config, owner, name, version);
        return ok(reserved(index, name, id, now()));
      };
      yield* await indexes.update(owner, reserve, options);
      const createdAt = timestampOf(instantOfMillis(now()));
      const arn = yield* await manager.create(id, value, owner, options).orElse(asUnavailable);
      const added: IndexedVersion = { version, digest, createdAt, id, arn };
      const claim = ids.id();
      const list = (index: SecretIndex) =>
        ok<SecretIndex, never>(claimed(committed(index, name, added, now()), claim, now()));
      const index = yield* await indexes.update(owner, list, options);
      // The next change of the account's secrets tries again.
      const cleaned = await deleteClaimed(owner, index, claim, options);
      if (cleaned.isErr()) logger.warn("leftover secrets were not deleted", { error: cleaned.error });
      if (!versionsOf(index, name).some((one) => one.id === id))
        return err(unavailable("Storing the secret took too long. Try again.", 5));
      return ok(publicVersion(added));
    });

  const list: SecretStore["list"] = (owner, options = {}) =>
    indexes.read(owner, options).map((index): readonly StoredSecret[] => storedSecrets(index));

  const remove: SecretStore["delete"] = (owner, name, version, options = {}) =>
    safeTry<void, NotFound | Unavailable>(async function* () {
      const claim = ids.id();
      const change = (index: SecretIndex): Result<SecretIndex, NotFound> => {
        const after = removed(index, name, version, now());
        if (after === undefined) return err(notFound(`The secret '${name}' or its version does not exist.`));
        return ok(claimed(after, claim, now()));
      };
      const index = yield* await indexes.update(owner, change, options);
      // If this fails, the version is already unlisted, and a repeated deletion finds the value among the leftovers.
      yield* await deleteClaimed(owner, index, claim, options);
      return ok(undefined);
    });

  const arns: RolloutSecrets["arns"] = (owner, pins, options) =>
    indexes.read(owner, options).map(
      (index) =>
        new Map(
          Object.entries(pins).flatMap(([variable, { name, version }]): [string, string][] => {
            const found = versionsOf(index, name).find((one) => one.version === version);
            return found === undefined ? [] : [[variable, found.arn]];
          }),
        ),
    );

  return {
    list,
    set,
    delete: remove,
    ...createPendingRedeploys(bucket),
    arns,
    values: (owner, pins) =>
      arns(owner, pins, {}).andThen((found) =>
        found.size < Object.keys(pins).length
          ? err(unavailable("A version of a secret was deleted. Set the secret, then deploy again.", 60))
          : inParallel([...new Set(found.values())], CONCURRENCY, (arn) => manager.read(arn, {}).orElse(asUnavailable)),
      ),
  };
};
