/**
 * Unfinished redeploys for new secret values. Each is an object in the state bucket, and its key names the account, the
 * secret and the version. Each version has its own object, so writes need no condition. One listing returns all
 * objects.
 */
import { isAccount } from "../../../core/domain/accounts/account.ts";
import type { PendingRedeploys } from "../../../core/domain/secrets/redeploys.ts";
import { pendingAfterBegin, pendingAfterEnd } from "../../../core/domain/secrets/redeploys.ts";
import type { SecretName } from "../../../core/domain/wire/names.ts";
import type { SecretStore } from "../../../core/ports/secret-store.ts";
import { ok, safeTry } from "../../../core/result.ts";
import { throwState } from "../call-policy.ts";
import type { StateBucket } from "../state/state-bucket.ts";

const PREFIX = "secret-redeploys/";

const prefixOf = ({ owner, name }: Omit<PendingRedeploys, "version">): string =>
  `${PREFIX}${encodeURIComponent(owner)}/${name}/`;

const keyOf = (pending: PendingRedeploys): string => `${prefixOf(pending)}${pending.version}`;

/** The names of accounts are ASCII, so an encoded account matches, and decoding a match cannot fail. */
const KEY = /^secret-redeploys\/((?:[^/%]|%[2-7][0-9A-F])+)\/([^/]+)\/([1-9]\d{0,14})$/;

/** Returns an empty list for a key in a different form. */
const parseKey = (key: string): PendingRedeploys[] => {
  const [, account = "", name = "", version = ""] = KEY.exec(key) ?? [];
  const owner = decodeURIComponent(account);
  return isAccount(owner) ? [{ owner, name: name as SecretName, version: Number(version) }] : [];
};

/** Returns the record with the newest version of each secret. */
const newestOfEach = (recorded: readonly PendingRedeploys[]): readonly PendingRedeploys[] => {
  const newest = new Map<string, PendingRedeploys>();
  for (const one of recorded) {
    const version = pendingAfterBegin(newest.get(prefixOf(one))?.version, one.version);
    newest.set(prefixOf(one), { ...one, version });
  }
  return [...newest.values()];
};

export const createPendingRedeploys = (
  bucket: Pick<StateBucket, "list" | "put" | "remove">,
): Pick<SecretStore, "beginRedeploys" | "endRedeploys" | "pendingRedeploys"> => ({
  beginRedeploys: (pending, options = {}) =>
    bucket
      .put(keyOf(pending), "{}", "any", "", options)
      .map(() => undefined)
      .mapErr(throwState),

  endRedeploys: (pending, options = {}) =>
    safeTry(async function* () {
      for (const { key } of yield* await bucket.list(prefixOf(pending), options)) {
        const [recorded] = parseKey(key);
        if (recorded !== undefined && pendingAfterEnd(recorded.version, pending.version) === undefined)
          yield* await bucket.remove(key, options);
      }
      return ok(undefined);
    }),

  pendingRedeploys: (options = {}) =>
    bucket.list(PREFIX, options).map((found) => newestOfEach(found.flatMap(({ key }) => parseKey(key)))),
});
