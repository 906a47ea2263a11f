/**
 * `SecretStore` on Secret Manager. A secret of an account is a secret of Secret Manager, and a version is one of its
 * versions. "SecretVersion IDs in a Secret start at 1 and are incremented for each subsequent version of the secret"
 * (google/cloud/secretmanager/v1/resources.proto). A deletion destroys the values and keeps the secret itself, so a
 * number is never used again.
 *
 * The annotations of the secret list its versions (versions.ts). The write that adds a version to the list is
 * conditional on the secret's etag.
 */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { type PendingRedeploys, pendingAfterBegin, pendingAfterEnd } from "../../../core/domain/secrets/redeploys.ts";
import type { PinnedSecrets } from "../../../core/domain/secrets/references.ts";
import type { SecretVersion, StoredSecret } from "../../../core/domain/secrets/secret.ts";
import { type Instant, millisOf } from "../../../core/domain/wire/instant.ts";
import { type Conflict, conflict, type NotFound, notFound, type Unavailable } from "../../../core/errors.ts";
import type { SecretStore } from "../../../core/ports/secret-store.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok, okAsync, type Result, ResultAsync, safeTry } from "../../../core/result.ts";
import { inParallel } from "../../cloud/calls/in-parallel.ts";
import { isCallState } from "../../cloud/calls/provider-call.ts";
import { OWNER_LABEL } from "../../cloud/deploy/labels.ts";
import { createDigestKey } from "../../cloud/secrets/digest-key.ts";
import { createRejectedCalls } from "../../cloud/secrets/rejected-calls.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import { secretDigest } from "../../shared/secrets/secret-digest.ts";
import type { Identities } from "../accounts/identities.ts";
import type { GoogleRuntimeDeps } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import type { GcpLocation } from "../location.ts";
import { DIGEST_KEY_ID, secretIdOf, secretNameOf } from "./names.ts";
import { RecentVersions } from "./recent-versions.ts";
import { createSecretAccess } from "./secret-access.ts";
import { createSecretManager, type ManagedSecret } from "./secret-manager.ts";
import {
  type Annotations,
  abandonedVersions,
  type Changes,
  deletionOf,
  type EnabledVersion,
  MAX_VERSIONS,
  parseRedeploys,
  parseVersions,
  renderRedeploys,
  renderVersion,
  withChanges,
  withoutRedeploys,
} from "./versions.ts";

/** The operations on secrets that a rollout needs. */
export interface RolloutSecrets {
  /** Returns a pinned version that does not exist, or undefined. */
  missing(
    owner: AccountId,
    pins: PinnedSecrets,
    options: CallOptions,
  ): ResultAsync<PinnedSecrets[string] | undefined, Unavailable>;
  /** Returns the values of the pinned versions. The caller must not pass them on. */
  values(owner: AccountId, pins: PinnedSecrets): ResultAsync<readonly string[], Unavailable>;
  /** Returns the times of this process's grants on the secrets. */
  grantedAt(owner: AccountId, pins: PinnedSecrets): readonly Instant[];
}

/** Maximum attempts. An attempt fails if another call has written the secret and the read did not see that write. */
const TRIES = 10;
const PAUSE_MS = 250;

/** Maximum number of concurrent reads of a rollout. */
const CONCURRENCY = 8;

/** Limits the cost and the size of a list. A deleted secret counts, because Secret Manager keeps it. */
const MAX_SECRETS = 1000;

export const createGcpSecrets = (
  location: GcpLocation,
  clients: ClientSource,
  runtime: GoogleRuntimeDeps,
  identities: Pick<Identities, "ensure">,
): SecretStore & RolloutSecrets => {
  const { clock, logger } = runtime;
  const manager = createSecretManager(location, clients, runtime);
  const access = createSecretAccess(manager, clock);
  const recent = new RecentVersions(clock);
  const { rejected, asUnavailable, ifAbsent } = createRejectedCalls({ store: "Secret Manager", logger });

  const find = (id: string, options: CallOptions): ResultAsync<ManagedSecret | null, Unavailable> =>
    manager.get(id, options).orElse(ifAbsent<ManagedSecret | null>(null));

  const create = (id: string, labels: Readonly<Record<string, string>>, options: CallOptions) =>
    manager
      .create(id, labels, options)
      .map(() => undefined)
      .orElse((error) =>
        isCallState(error) && error.code === "exists" ? ok<undefined, Unavailable>(undefined) : asUnavailable(error),
      );

  /** The first version of a secret. If two processes create the key concurrently, both use the first version. */
  const digestKey = createDigestKey({
    read: (options) => manager.access(DIGEST_KEY_ID, 1, options).orElse(ifAbsent<Buffer | null>(null)),
    create: (key, options) =>
      create(DIGEST_KEY_ID, {}, options).andThen(() =>
        manager.addVersion(DIGEST_KEY_ID, key, options).orElse(asUnavailable),
      ),
  });

  /**
   * If the read misses a recent write, its etag is stale, and the conditional write fails. Therefore, the recent writes
   * must not be added to the annotations.
   * @param known the secret, if the caller knows a state that may be newer than a read
   */
  const annotateOnce = (
    id: string,
    change: Changes | ((annotations: Annotations | undefined) => Changes),
    options: CallOptions,
    known?: ManagedSecret,
  ) =>
    (known === undefined ? manager.get(id, options) : okAsync(known)).andThen(({ annotations, etag }) => {
      const changes = typeof change === "function" ? change(annotations) : change;
      if (Object.keys(changes).length === 0) return ok(annotations ?? {});
      const after = withChanges(annotations, changes);
      return manager
        .annotate(id, after, etag, options)
        .andTee((written) => recent.record(id, changes, { ...written, annotations: after }))
        .map(() => after);
    });

  const annotateUntilWritten = async (
    ...[id, change, options, known]: Parameters<typeof annotateOnce>
  ): Promise<Result<Annotations, Unavailable>> => {
    let last: unknown;
    for (let tries = 0; tries < TRIES; tries++) {
      const written = await annotateOnce(id, change, options, tries === 0 ? known : undefined);
      if (written.isOk()) return ok(written.value);
      if (!isCallState(written.error)) return err(written.error);
      last = written.error.error;
      await clock.sleep(PAUSE_MS * tries, options.signal);
    }
    return err(rejected(last));
  };

  /**
   * Changes the annotations, and returns all of them. Writes nothing if they stay the same. If another call has written
   * the secret since the read, reads and writes again.
   */
  const annotate = (...args: Parameters<typeof annotateOnce>) => new ResultAsync(annotateUntilWritten(...args));

  /** Destroys a version. Secret Manager rejects the request if the version is destroyed already. */
  const destroy = (id: string, version: number, options: CallOptions) =>
    manager
      .destroy(id, version, options)
      .map(() => undefined)
      .orElse((error) => (isCallState(error) ? ok<undefined, Unavailable>(undefined) : err(error)));

  /**
   * Destroys the values that failed calls have left behind. If it fails, the next change of the secret tries again.
   *
   * @param annotations the result of a write, because a read may not see that write yet
   */
  const destroyAbandoned = async (
    id: string,
    enabled: readonly EnabledVersion[],
    annotations: Annotations,
    options: CallOptions,
  ): Promise<void> => {
    for (const version of abandonedVersions(enabled, annotations, millisOf(clock.now())))
      if ((await destroy(id, version, options)).isErr()) return;
  };

  /** Returns false if the version was destroyed, for example by another process. */
  const exists = (id: string, version: number, options: CallOptions) =>
    manager
      .access(id, version, options)
      .map(() => true)
      .orElse((error) => (isCallState(error) ? ok<boolean, Unavailable>(false) : err(error)));

  /**
   * Returns the annotations of the account's secrets by their ids, including secrets without versions.
   * @param owner undefined for all secrets of the project
   * @param isKept selects the secrets to return, because a project may have more secrets than fit into memory
   */
  const managed = (
    owner: AccountId | undefined,
    options: CallOptions,
    isKept: (annotations: Annotations) => boolean = () => true,
  ) =>
    safeTry<ReadonlyMap<string, Annotations>, Unavailable>(async function* () {
      const found = new Map<string, Annotations>();
      let pageToken = "";
      do {
        const page = yield* await manager.list(owner && accountDigest(owner), pageToken, options).orElse(asUnavailable);
        for (const { name, annotations = {} } of page.secrets ?? [])
          if (isKept(annotations)) found.set(name.split("/").at(-1) ?? "", annotations);
        pageToken = page.nextPageToken ?? "";
      } while (pageToken !== "");
      return ok(found);
    });

  const set: SecretStore["set"] = (owner, name, value, options = {}) =>
    safeTry<SecretVersion, Conflict | Unavailable>(async function* () {
      const id = secretIdOf(owner, name);
      const email = yield* await identities.ensure(owner, options);
      const digest = secretDigest(yield* await digestKey(options), owner, name, value);
      let found = yield* await find(id, options);
      if (found === null) {
        if ((yield* await managed(owner, options)).size >= MAX_SECRETS)
          return err(
            conflict(
              `Your account has used ${MAX_SECRETS} names of secrets, which is the maximum. Use the name of an existing or deleted secret.`,
            ),
          );
        yield* await create(id, { [OWNER_LABEL]: accountDigest(owner) }, options);
        found = yield* await find(id, options);
      }
      // Even if the value is unchanged, this repairs a grant that an operator has removed.
      yield* await access.grant(id, email, options);
      const versions = parseVersions(recent.apply(id, found?.annotations));
      const [newest] = versions;
      if (newest?.digest === digest && (yield* await exists(id, newest.version, options))) return ok(newest);
      if (versions.length >= MAX_VERSIONS)
        return err(
          conflict(
            `The secret '${name}' has ${versions.length} versions, which is the maximum. Delete a version that no release needs: portside secret delete ${name} --version N`,
          ),
        );
      const millis = millisOf(clock.now());
      const version = yield* await manager.addVersion(id, Buffer.from(value), options).orElse(asUnavailable);
      const added = renderVersion(version, digest, millis);
      const annotations = yield* await annotate(id, added, options);
      const enabled = await manager.enabledVersions(id, options);
      if (enabled.isOk()) await destroyAbandoned(id, enabled.value, annotations, options);
      return ok(parseVersions(added)[0] as SecretVersion);
    });

  const list: SecretStore["list"] = (owner, options = {}) =>
    safeTry<readonly StoredSecret[], Unavailable>(async function* () {
      const lately = recent.ids().map((id) => [id, {}] as const);
      const found = new Map([...lately, ...(yield* await managed(owner, options))]);
      const secrets = [...found].flatMap(([id, annotations]): StoredSecret[] => {
        const name = secretNameOf(owner, id);
        const versions = parseVersions(recent.apply(id, annotations));
        return name === undefined || versions.length === 0 ? [] : [{ name, versions }];
      });
      return ok(secrets.sort((a, b) => (a.name < b.name ? -1 : 1)));
    });

  const remove: SecretStore["delete"] = (owner, name, version, options = {}) =>
    safeTry<void, NotFound | Unavailable>(async function* () {
      const id = secretIdOf(owner, name);
      const found = yield* await find(id, options);
      const listed = parseVersions(recent.apply(id, found?.annotations)).map((one) => one.version);
      // A failed `set` or `delete` may have left a value that is not listed.
      const enabled = yield* await manager.enabledVersions(id, options).orElse(ifAbsent<readonly EnabledVersion[]>([]));
      const all = new Set([...listed, ...enabled.map((one) => one.version)]);
      const deleted = [...all].filter((one) => version === undefined || one === version);
      if (deleted.length === 0) return err(notFound(`The secret '${name}' or its version does not exist.`));
      // If the destruction fails, the version is already unlisted, and a repeated deletion finds its value.
      const annotations = yield* await annotate(id, deletionOf(deleted), options);
      for (const one of deleted) yield* await destroy(id, one, options);
      await destroyAbandoned(id, enabled, annotations, options);
      return ok(undefined);
    });

  const changeRedeploys = (
    { owner, name }: PendingRedeploys,
    changeOf: (recorded: number | undefined) => Changes,
    options: CallOptions,
  ) => {
    const id = secretIdOf(owner, name);
    const change = (seen: Annotations | undefined) => changeOf(parseRedeploys(seen)?.version);
    // Redeploys begin right after `set` has written the secret, and a read may not see that write for minutes.
    return annotate(id, change, options, recent.lastWritten(id)).map(() => undefined);
  };

  const beginRedeploys: SecretStore["beginRedeploys"] = (pending, options = {}) =>
    changeRedeploys(
      pending,
      (recorded) => renderRedeploys({ owner: pending.owner, version: pendingAfterBegin(recorded, pending.version) }),
      options,
    );

  const endRedeploys: SecretStore["endRedeploys"] = (pending, options = {}) =>
    changeRedeploys(
      pending,
      (recorded) => (pendingAfterEnd(recorded, pending.version) === undefined ? withoutRedeploys : {}),
      options,
    );

  const pendingRedeploys: SecretStore["pendingRedeploys"] = (options = {}) =>
    managed(undefined, options, (annotations) => parseRedeploys(annotations) !== undefined).map((found) => {
      const lately = recent.ids().map((id) => [id, {}] as const);
      return [...new Map([...lately, ...found])].flatMap(([id, annotations]): PendingRedeploys[] => {
        const recorded = parseRedeploys(recent.apply(id, annotations));
        if (recorded === undefined) return [];
        const name = secretNameOf(recorded.owner, id);
        return name === undefined ? [] : [{ ...recorded, name }];
      });
    });

  return {
    list,
    set,
    delete: remove,
    beginRedeploys,
    endRedeploys,
    pendingRedeploys,

    missing: (owner, pins, options) =>
      safeTry(async function* () {
        const ids = [...new Set(Object.values(pins).map(({ name }) => secretIdOf(owner, name)))];
        const found = yield* await inParallel(ids, CONCURRENCY, (id) =>
          find(id, options).map((secret) => [id, parseVersions(recent.apply(id, secret?.annotations))] as const),
        );
        const versions = new Map(found);
        return ok(
          Object.values(pins).find(
            (pinned) =>
              versions.get(secretIdOf(owner, pinned.name))?.some(({ version }) => version === pinned.version) !== true,
          ),
        );
      }),

    values: (owner, pins) => {
      const distinct = new Map(Object.values(pins).map((pinned) => [`${pinned.name} ${pinned.version}`, pinned]));
      return inParallel([...distinct.values()], CONCURRENCY, ({ name, version }) =>
        manager
          .access(secretIdOf(owner, name), version, {})
          .map((value) => value.toString())
          .orElse(asUnavailable),
      );
    },

    grantedAt: (owner, pins) =>
      Object.values(pins).flatMap(({ name }) => access.grantedAt(secretIdOf(owner, name)) ?? []),
  };
};
