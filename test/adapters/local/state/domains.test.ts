/** The rows of domains and certificates, their encrypted keys, rekeys and backups. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { backupDataFolder, rekeySecrets, restoreDataFolder } from "../../../../adapters/local/index.ts";
import { loadCipher, prepareKey } from "../../../../adapters/local/secrets/key-file.ts";
import { CertificateRows } from "../../../../adapters/local/state/certificates.ts";
import { openState, type StateDatabase } from "../../../../adapters/local/state/database.ts";
import { DomainRows } from "../../../../adapters/local/state/domains.ts";
import { ServiceRows } from "../../../../adapters/local/state/services.ts";
import { SettingRows } from "../../../../adapters/local/state/settings.ts";
import { StoredState } from "../../../../adapters/local/state/stored-state.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { newDomain } from "../../../../core/domain/domains/domain.ts";
import type { DomainName } from "../../../../core/domain/domains/domain-name.ts";
import { instantOfSeconds } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import type { Challenge } from "../../../../core/ports/certificate-authority.ts";
import { day, names, owners, templateOf } from "./model.ts";

const [app] = names as [DeploymentName];
const [acme, globex] = owners as [AccountId, AccountId];
const host = "app.example.com" as DomainName;
const PEM = "-----BEGIN PRIVATE KEY-----\nfind me\n-----END PRIVATE KEY-----\n";
const directory = "https://ca.example/directory";
const hostKey = { kind: "host", name: host } as const;
const accountKey = { kind: "authority", name: directory } as const;

let folder: string;
let data: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "portside-state-"));
  data = join(folder, "data");
  mkdirSync(data, { mode: 0o700 });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Stores a certificate, the key of the next one, and an account. */
const fill = (db: StateDatabase) => {
  const [rows, cipher] = [new CertificateRows(db), prepareKey(db, data, undefined)];
  rows.change(host, {
    chain: "chain",
    key: cipher.sealPrivateKey(hostKey, PEM),
    notBefore: day(1),
    notAfter: day(9),
    nextKey: cipher.sealPrivateKey(hostKey, `${PEM}next`),
    nextOrder: "https://ca.example/order/1",
  });
  rows.putAccount({ directory, key: cipher.sealPrivateKey(accountKey, PEM), url: "https://ca.example/account/1" });
  return rows;
};

const keysIn = (db: StateDatabase) => {
  const [rows, settings] = [new CertificateRows(db), new SettingRows(db)];
  const cipher = loadCipher(join(data, "secrets.key"), settings.get("secrets_key_check"));
  const open = (id: typeof hostKey | typeof accountKey, sealed: Uint8Array | null | undefined) =>
    sealed == null ? null : cipher.openPrivateKey(id, sealed);
  const { key, nextKey, nextOrder, chain } = rows.of(host);
  const account = rows.account(directory);
  return {
    key: open(hostKey, key),
    nextKey: open(hostKey, nextKey),
    nextOrder,
    chain,
    account: open(accountKey, account?.key),
  };
};

const whole = {
  key: PEM,
  nextKey: `${PEM}next`,
  nextOrder: "https://ca.example/order/1",
  chain: "chain",
  account: PEM,
};

test("the engine sees the domains that are not pending and belong to the owner of the deployment", () => {
  using db = openState(data);
  using stored = new StoredState(data);
  const [domains, services] = [new DomainRows(db), new ServiceRows(db, () => "etag")];
  services.begin(templateOf(app, acme, "d1"), "absent", day(1));
  const own = newDomain(host, acme, app, day(1));
  domains.put(own, "1");
  expect(stored.hosts().routes).toEqual([]);
  domains.put({ ...own, status: "failing" }, "2");
  expect(stored.hosts().routes).toEqual([{ domain: host, name: app, owner: acme }]);
  domains.put({ ...own, status: "active" }, "3");
  expect(stored.hosts().routes).toHaveLength(1);
  domains.put({ ...own, status: "active", owner: globex }, "4");
  expect(stored.hosts().routes).toEqual([]);
});

test("the engine sees issued certificates and published challenges", () => {
  using db = openState(data);
  using stored = new StoredState(data);
  const rows = fill(db);
  rows.change("new.example.com" as DomainName, { nextKey: Buffer.from("sealed") });
  expect(stored.hosts().certificates).toEqual([{ host, chain: "chain", key: expect.any(Uint8Array) }]);
  const challenge: Challenge = { type: "http-01", host, token: "token", keyAuthorization: "token.thumbprint" };
  rows.publish(challenge);
  rows.publish({ ...challenge, type: "tls-alpn-01" });
  expect(stored.hosts().challenges).toHaveLength(2);
  rows.withdraw({ ...challenge, type: "tls-alpn-01" });
  expect(stored.hosts().challenges).toEqual([challenge]);
  rows.withdrawAll();
  expect(stored.hosts().challenges).toEqual([]);
});

test("an engine that opens the state of an earlier version sees no domains", () => {
  using db = openState(data);
  db.exec("DROP TABLE challenges");
  using stored = new StoredState(data);
  expect(stored.hosts()).toEqual({ routes: [], certificates: [], challenges: [] });
});

test("a change keeps the other columns, and orders that are too old are deleted", () => {
  using db = openState(data);
  const rows = fill(db);
  const before = rows.of(host);
  rows.change(host, { failures: 3, reason: "refused" });
  expect(rows.of(host)).toEqual({ ...before, failures: 3, reason: "refused" });
  const order = { account: acme, registeredDomain: "example.com" as DomainName, kind: "new" } as const;
  const begun = { authority: "ca.example", url: "https://ca.example/order/2" };
  const week = 7 * 24 * 3600;
  for (const at of [1, 2, week + 2]) rows.startOrder(host, begun, { ...order, at: instantOfSeconds(at) });
  rows.startOrder(host, begun, null);
  expect(rows.of(host)).toMatchObject({ nextOrder: begun.url, nextAuthority: begun.authority });
  expect(rows.orders().map(({ at }) => at)).toEqual([2, week + 2].map(instantOfSeconds));
});

test("the start of an order is stored with its place in the budget, or not at all", () => {
  using db = openState(data);
  const rows = fill(db);
  const before = rows.of(host);
  db.exec("ALTER TABLE certificate_orders RENAME TO away");
  const counted = { account: acme, registeredDomain: host, kind: "new", at: instantOfSeconds(1) } as const;
  expect(() => rows.startOrder(host, { authority: "ca", url: "https://ca.example/order/2" }, counted)).toThrow();
  expect(rows.of(host)).toEqual(before);
});

test("the states contain no chain and no key", () => {
  using db = openState(data);
  const { chain: _chain, key: _key, nextKey: _nextKey, ...state } = fill(db).of(host);
  expect(new CertificateRows(db).states()).toEqual([state]);
});

test("the state contains no private key in clear text, and an encrypted key opens only for its own host", () => {
  using db = openState(data);
  const rows = fill(db);
  const cipher = prepareKey(db, data, undefined);
  const { key } = rows.of(host);
  expect(cipher.openPrivateKey({ kind: "host", name: "other.example.com" }, key as Uint8Array)).toBeUndefined();
  expect(cipher.openPrivateKey({ kind: "authority", name: host }, key as Uint8Array)).toBeUndefined();
  for (const name of ["state.sqlite", "state.sqlite-wal"])
    expect(readFileSync(join(data, name), "latin1")).not.toContain("find me");
});

test("a rekey keeps the private keys, and removes them if the key is lost", () => {
  {
    using db = openState(data);
    fill(db);
  }
  const before = readFileSync(join(data, "secrets.key"), "utf8");
  rekeySecrets({ dataDir: data });
  expect(readFileSync(join(data, "secrets.key"), "utf8")).not.toBe(before);
  {
    using db = openState(data);
    expect(keysIn(db)).toEqual(whole);
  }
  rekeySecrets({ dataDir: data, discard: true });
  using db = openState(data);
  expect(keysIn(db)).toEqual({ key: null, nextKey: null, nextOrder: null, chain: null, account: null });
});

test.each([true, false])(
  "a restored backup has the certificates (with the secrets key: %s)",
  async (withSecretsKey) => {
    {
      using db = openState(data);
      fill(db);
    }
    const file = join(folder, "backup.tar.gz");
    await backupDataFolder({ dataDir: data, file, withSecretsKey });
    rmSync(data, { recursive: true });
    await restoreDataFolder({ dataDir: data, file });
    expect(existsSync(join(data, "secrets.key"))).toBe(withSecretsKey);
    using db = openState(data);
    // Certificates can be ordered again, so a missing key does not prevent the start.
    prepareKey(db, data, undefined);
    const lost = { ...whole, key: undefined, nextKey: undefined, account: undefined };
    expect(keysIn(db)).toEqual(withSecretsKey ? whole : lost);
  },
);

test("the migration counts all earlier failures as those of orders", () => {
  {
    using db = openState(data);
    fill(db).change(host, { failures: 3, orderFailures: 1, nextAttemptAt: "2026-01-01T00:00:00Z" as never });
  }
  {
    using db = new DatabaseSync(join(data, "state.sqlite"));
    // The ninth format.
    db.exec(`
      ALTER TABLE certificates DROP COLUMN order_failures;
      ALTER TABLE certificates DROP COLUMN authority_delays;
      ALTER TABLE certificates ADD COLUMN authority_retry_at TEXT;
      UPDATE certificates SET authority_retry_at = next_attempt_at;
      PRAGMA user_version = 9;
    `);
  }
  using db = openState(data, { acceptState: true });
  const rows = new CertificateRows(db);
  expect(rows.of(host)).toMatchObject({
    failures: 3,
    orderFailures: 3,
    chain: "chain",
    nextAttemptAt: "2026-01-01T00:00:00Z",
    authorityDelays: "{}",
  });
  expect(rows.accounts()).toHaveLength(1);
});
