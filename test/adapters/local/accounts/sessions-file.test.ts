/** The console's sessions in a data folder: what the files contain, and what survives a restart and a lost file. */
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createLocalIdentity } from "../../../../adapters/local/index.ts";
import { accountOf } from "../../../../core/domain/accounts/account.ts";
import type { Sessions } from "../../../../core/ports/sessions.ts";
import { folderWith } from "../../../support/archives/folders.ts";

const acme = accountOf("acme");
const holder = {
  account: acme,
  credential: { kind: "issuer_token", id: "jwt:1", keyId: null },
  expiresAt: undefined,
} as const;

const open = (dataDir: string) => {
  const local = createLocalIdentity(dataDir);
  return { ...local, sessions: local.identity.sessions as Sessions, [Symbol.dispose]: () => local.close() };
};

test("stores no secret of a session or link in any file, and only its owner can read the file", async () => {
  using folder = folderWith();
  const dataDir = join(folder.path, "data");
  using local = open(dataDir);
  const { secrets } = (await local.sessions.create(holder))._unsafeUnwrap();
  const { token } = (await local.sessions.createLink(holder))._unsafeUnwrap();
  expect((await local.sessions.authenticate(secrets)).isOk()).toBe(true);
  const files = readdirSync(dataDir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(files.map(({ name }) => name)).toContain("sessions.sqlite");
  for (const { parentPath, name } of files) {
    const bytes = readFileSync(join(parentPath, name));
    for (const secret of [token, secrets.cookie, secrets.requestToken]) expect(bytes.includes(secret)).toBe(false);
    if (name.startsWith("sessions.")) expect(statSync(join(parentPath, name)).mode & 0o777).toBe(0o600);
  }
});

test("sessions survive a restart", async () => {
  using folder = folderWith();
  const dataDir = join(folder.path, "data");
  const before = open(dataDir);
  const { secrets, session } = (await before.sessions.create(holder))._unsafeUnwrap();
  before.close();
  using after = open(dataDir);
  expect((await after.sessions.authenticate(secrets))._unsafeUnwrap().sessionId).toBe(session.id);
  expect((await after.sessions.revoke(acme, session.id)).isOk()).toBe(true);
  expect((await after.sessions.authenticate(secrets)).isErr()).toBe(true);
});

test("opens the file only when a session is used, and replaces a damaged file", async () => {
  using folder = folderWith();
  const dataDir = join(folder.path, "data");
  const path = join(dataDir, "sessions.sqlite");
  const first = open(dataDir);
  (await first.identity.keys.create(acme, "ci"))._unsafeUnwrap();
  expect(existsSync(path)).toBe(false);
  const { secrets } = (await first.sessions.create(holder))._unsafeUnwrap();
  first.close();
  for (const end of ["-wal", "-shm"]) rmSync(path + end, { force: true });
  writeFileSync(path, "not a database".repeat(1000));
  using second = open(dataDir);
  expect((await second.sessions.authenticate(secrets))._unsafeUnwrapErr().kind).toBe("unauthenticated");
  const again = (await second.sessions.create(holder))._unsafeUnwrap();
  expect((await second.sessions.authenticate(again.secrets)).isOk()).toBe(true);
  expect((await second.identity.keys.list(acme))._unsafeUnwrap()).toHaveLength(1);
});
