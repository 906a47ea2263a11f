/** The local SecretStore. The state stores the versions, with encrypted values. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { type PendingRedeploys, pendingAfterBegin, pendingAfterEnd } from "../../../core/domain/secrets/redeploys.ts";
import type { SecretVersion, StoredSecret } from "../../../core/domain/secrets/secret.ts";
import { timestampOf } from "../../../core/domain/wire/instant.ts";
import type { SecretName } from "../../../core/domain/wire/names.ts";
import { type NotFound, notFound, type Unavailable } from "../../../core/errors.ts";
import type { SecretStore } from "../../../core/ports/secret-store.ts";
import type { Clock } from "../../../core/ports/system.ts";
import { errAsync, okAsync, type ResultAsync } from "../../../core/result.ts";
import type { StateDatabase } from "../state/database.ts";
import { guardState, transaction } from "../state/database.ts";
import { SecretRows } from "../state/secrets.ts";
import { SettingRows } from "../state/settings.ts";
import { parsePending, REDEPLOYS, renderPending } from "./pending-redeploys.ts";
import type { SecretCipher } from "./secret-cipher.ts";

export class LocalSecrets implements SecretStore {
  readonly #db: StateDatabase;
  readonly #rows: SecretRows;
  readonly #settings: SettingRows;
  readonly #cipher: SecretCipher;
  readonly #clock: Clock;

  constructor(db: StateDatabase, cipher: SecretCipher, clock: Clock) {
    this.#db = db;
    this.#rows = new SecretRows(db);
    this.#settings = new SettingRows(db);
    this.#cipher = cipher;
    this.#clock = clock;
  }

  list(owner: AccountId): ResultAsync<readonly StoredSecret[], Unavailable> {
    return guardState(() => this.#rows.of(owner));
  }

  set(owner: AccountId, name: SecretName, value: string): ResultAsync<SecretVersion, Unavailable> {
    return guardState(() => transaction(this.#db, () => this.#set(owner, name, value)));
  }

  delete(owner: AccountId, name: SecretName, version?: number): ResultAsync<void, NotFound | Unavailable> {
    return guardState(() => this.#rows.delete(owner, name, version)).andThen((deleted) =>
      deleted
        ? okAsync<void, NotFound>(undefined)
        : errAsync(notFound(`The secret '${name}' or its version does not exist.`)),
    );
  }

  beginRedeploys(pending: PendingRedeploys): ResultAsync<void, Unavailable> {
    return this.#changePending(pending, (recorded) => pendingAfterBegin(recorded, pending.version));
  }

  endRedeploys(pending: PendingRedeploys): ResultAsync<void, Unavailable> {
    return this.#changePending(pending, (recorded) => pendingAfterEnd(recorded, pending.version));
  }

  pendingRedeploys(): ResultAsync<readonly PendingRedeploys[], Unavailable> {
    return guardState(() => parsePending(this.#settings.get(REDEPLOYS)));
  }

  #changePending(
    { owner, name }: PendingRedeploys,
    change: (recorded: number | undefined) => number | undefined,
  ): ResultAsync<void, Unavailable> {
    return guardState(() =>
      transaction(this.#db, () => {
        const all = parsePending(this.#settings.get(REDEPLOYS));
        const isOther = (one: PendingRedeploys) => one.owner !== owner || one.name !== name;
        const version = change(all.find((one) => !isOther(one))?.version);
        const others = all.filter(isOther);
        this.#settings.set(
          REDEPLOYS,
          renderPending(version === undefined ? others : [...others, { owner, name, version }]),
        );
      }),
    );
  }

  #set(owner: AccountId, name: SecretName, value: string): SecretVersion {
    const digest = this.#cipher.digest({ owner, name }, value);
    const newest = this.#rows.newest(owner, name);
    if (newest?.digest === digest) return newest;
    const added = { version: this.#rows.nextVersion(owner, name), digest, createdAt: timestampOf(this.#clock.now()) };
    const sealed = this.#cipher.seal({ owner, name, version: added.version }, value);
    this.#rows.add({ ...added, owner, name, sealed });
    return added;
  }
}
