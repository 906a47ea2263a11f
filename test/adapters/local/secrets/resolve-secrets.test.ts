/** The secrets key changes or disappears while an engine runs. */
import { randomBytes } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { KEY_CHECK, loadCipher, prepareKey } from "../../../../adapters/local/secrets/key-file.ts";
import { SecretResolver } from "../../../../adapters/local/secrets/resolve-secrets.ts";
import { openState } from "../../../../adapters/local/state/database.ts";
import { SecretRows } from "../../../../adapters/local/state/secrets.ts";
import { SettingRows } from "../../../../adapters/local/state/settings.ts";
import type { Timestamp } from "../../../../core/domain/wire/instant.ts";
import type { SecretName } from "../../../../core/domain/wire/names.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { principalOf } from "../../../support/providers/local-platform.ts";

const { account: owner } = principalOf("acme");
const template = { owner, secrets: { A: { name: "KEY" as SecretName, version: 1, follows: true } } };

const open = (dataDir: string) => {
  const db = openState(dataDir);
  const [rows, settings] = [new SecretRows(db), new SettingRows(db)];
  const key = join(dataDir, "secrets.key");
  const logged: unknown[] = [];
  const ignore = () => undefined;
  const resolver = new SecretResolver({
    rows,
    check: () => settings.get(KEY_CHECK),
    load: (check) => loadCipher(key, check),
    logger: { debug: ignore, info: ignore, warn: ignore, error: (...args) => void logged.push(args) },
  });
  const store = (value: string) => {
    const id = { owner, name: "KEY" as SecretName, version: 1 };
    const cipher = prepareKey(db, dataDir, undefined);
    const createdAt = "2026-01-01T00:00:00Z" as Timestamp;
    rows.clear();
    rows.add({ ...id, createdAt, digest: cipher.digest(id, value), sealed: cipher.seal(id, value) });
  };
  return { rows, key, logged, resolver, store, [Symbol.dispose]: () => db.close() };
};

const replaceWithFolder = (path: string): void => {
  rmSync(path);
  mkdirSync(path);
};

test("resolves with the new key after a server has accepted it", () => {
  using folder = folderWith();
  using state = open(folder.path);
  state.store("one");
  expect(state.resolver.resolve(template)._unsafeUnwrap()).toEqual({ A: "one" });
  state.rows.clear();
  writeFileSync(state.key, `${randomBytes(32).toString("base64")}\n`);
  state.store("two");
  expect(state.resolver.resolve(template)._unsafeUnwrap()).toEqual({ A: "two" });
});

test.each([
  ["missing", (key: string) => rmSync(key)],
  ["unreadable", replaceWithFolder],
  ["wrong", (key: string) => writeFileSync(key, `${randomBytes(32).toString("base64")}\n`)],
])("fails with secret_unavailable if the key file is %s, and logs its path", (_what, change) => {
  using folder = folderWith();
  using state = open(folder.path);
  state.store("one");
  change(state.key);
  expect(state.resolver.resolve(template)._unsafeUnwrapErr()).toEqual({
    reason: "secret_unavailable",
    message:
      "The server cannot read the secrets key. The operator of the server must restore the key file that the server's log names. Then deploy again.",
  });
  expect(state.logged).toMatchObject([["could not read the secrets key", { keyFile: state.key }]]);
});
