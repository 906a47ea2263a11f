/** Stores the digests of secrets. Services are simulated, so the store does not need the values. */
import { randomBytes } from "node:crypto";
import { type PendingRedeploys, pendingAfterBegin, pendingAfterEnd } from "../../../core/domain/secrets/redeploys.ts";
import type { SecretVersion } from "../../../core/domain/secrets/secret.ts";
import { timestampOf } from "../../../core/domain/wire/instant.ts";
import type { SecretName } from "../../../core/domain/wire/names.ts";
import { notFound } from "../../../core/errors.ts";
import type { SecretStore } from "../../../core/ports/secret-store.ts";
import type { Clock } from "../../../core/ports/system.ts";
import { errAsync, okAsync } from "../../../core/result.ts";
import { scopeKey } from "../../shared/accounts/scope-key.ts";
import { secretDigest } from "../../shared/secrets/secret-digest.ts";
import type { World } from "../world.ts";

export const createMemorySecrets = (world: World, clock: Clock): SecretStore => {
  const digestKey = randomBytes(32);
  const changePending = ({ owner, name }: PendingRedeploys, change: (recorded?: number) => number | undefined) => {
    const key = scopeKey(owner, name);
    const stored = world.secrets.get(key);
    if (stored !== undefined) world.secrets.set(key, { ...stored, redeploying: change(stored.redeploying) });
    return okAsync(undefined);
  };
  return {
    list: (owner) =>
      okAsync(
        [...world.secrets.values()]
          .filter((secret) => secret.owner === owner && secret.versions.length > 0)
          .map(({ name, versions }) => ({ name, versions: structuredClone(versions) }))
          .sort((a, b) => (a.name < b.name ? -1 : 1)),
      ),

    set: (owner, name, value) => {
      const key = scopeKey(owner, name);
      const stored = world.secrets.get(key) ?? { owner, name, numbered: 0, versions: [] };
      const digest = secretDigest(digestKey, owner, name, value);
      const [newest] = stored.versions;
      if (newest?.digest === digest) return okAsync({ ...newest });
      const version: SecretVersion = { version: stored.numbered + 1, digest, createdAt: timestampOf(clock.now()) };
      world.secrets.set(key, { ...stored, numbered: version.version, versions: [version, ...stored.versions] });
      return okAsync({ ...version });
    },

    delete: (owner, name, version) => {
      const key = scopeKey(owner, name);
      const stored = world.secrets.get(key);
      const left = stored?.versions.filter((one) => version !== undefined && one.version !== version) ?? [];
      if (stored === undefined || left.length === stored.versions.length) return errAsync(unknownVersion(name));
      world.secrets.set(key, { ...stored, versions: left });
      return okAsync(undefined);
    },

    beginRedeploys: (pending) => changePending(pending, (recorded) => pendingAfterBegin(recorded, pending.version)),

    endRedeploys: (pending) => changePending(pending, (recorded) => pendingAfterEnd(recorded, pending.version)),

    pendingRedeploys: () =>
      okAsync(
        [...world.secrets.values()].flatMap(({ owner, name, redeploying: version }) =>
          version === undefined ? [] : [{ owner, name, version }],
        ),
      ),
  };
};

const unknownVersion = (name: SecretName) => notFound(`The secret '${name}' or its version does not exist.`);
