/** The secrets key: its file, a wrong or missing key, swapped ciphertexts, rekeys and backups. */
import { randomBytes } from "node:crypto";
import fs, {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { backupDataFolder, rekeySecrets, restoreDataFolder } from "../../../../adapters/local/index.ts";
import { loadCipher, prepareKey } from "../../../../adapters/local/secrets/key-file.ts";
import { openState } from "../../../../adapters/local/state/database.ts";
import type { Logger } from "../../../../core/ports/system.ts";
import { nodeSource } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { principalOf, startLocalIn, type TestPlatform } from "../../../support/providers/local-platform.ts";

const acme = principalOf("acme");

/** Responds with the variables `A` and `B`. */
const service = nodeSource(`
  import http from "node:http";
  const { A, B } = process.env;
  http.createServer((req, res) => res.end([A, B].join(" "))).listen(process.env.PORT);
`);

const set = async ({ controlPlane }: TestPlatform, name: string, value: string) =>
  (await controlPlane.setSecret(acme, { name, value }))._unsafeUnwrap();

const list = async ({ controlPlane }: TestPlatform) => (await controlPlane.listSecrets(acme))._unsafeUnwrap();

/** Stores two secrets and deploys a service that uses them. */
const prepare = async (dataDir: string, options: object = {}) => {
  await using platform = await startLocalIn(dataDir, options);
  await set(platform, "A", "value of A");
  await set(platform, "B", "value of B");
  const env = { A: { secret: "A" }, B: { secret: "B" } };
  expect(await text(await platform.up(service, { env }))).toBe("value of A value of B");
  return await list(platform);
};

const text = async (url: string) => (await fetch(url)).text();

const served = async (dataDir: string, options: object = {}) => {
  await using platform = await startLocalIn(dataDir, options);
  const [deployment] = (await platform.controlPlane.listDeployments(acme))._unsafeUnwrap();
  return await text(deployment?.url as string);
};

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

/** Makes renames to the path fail, as they do if the path is a mount point. */
const mountPoint = (path: string): Disposable => {
  const { renameSync } = fs;
  fs.renameSync = (from, to) => {
    if (to === path) throw Object.assign(new Error("EBUSY: resource busy or locked, rename"), { code: "EBUSY" });
    renameSync(from, to);
  };
  syncBuiltinESMExports();
  return {
    [Symbol.dispose]: () => {
      fs.renameSync = renameSync;
      syncBuiltinESMExports();
    },
  };
};

const filesLike = (path: string) => readdirSync(dirname(path)).filter((name) => name.startsWith(basename(path)));

const newKey = () => `${randomBytes(32).toString("base64")}\n`;

test("the key has its own file of mode 0600, and survives a restart", async () => {
  using folder = folderWith();
  const before = await prepare(folder.path);
  const key = join(folder.path, "secrets.key");
  expect(modeOf(key)).toBe("600");
  expect(Buffer.from(readFileSync(key, "utf8").trim(), "base64")).toHaveLength(32);
  expect(await served(folder.path)).toBe("value of A value of B");
  await using platform = await startLocalIn(folder.path);
  expect(await list(platform)).toEqual(before);
});

test("the setting names a different file, which is created if it is missing", async () => {
  using folder = folderWith();
  const data = join(folder.path, "data");
  const options = { secretsKeyFile: join(folder.path, "key") };
  await prepare(data, options);
  expect(modeOf(options.secretsKeyFile)).toBe("600");
  expect(existsSync(join(data, "secrets.key"))).toBe(false);
  expect(await served(data, options)).toBe("value of A value of B");
});

describe("a start is refused, and nothing changes, with", () => {
  test.each([
    ["a missing key", (key: string) => rmSync(key), "is missing. Put the right key there"],
    ["another key", (key: string) => writeFileSync(key, newKey()), "does not contain the key that encrypted"],
    [
      "a file that is not a key",
      (key: string) => writeFileSync(key, "no key"),
      "must contain 32 bytes as base64, but does not. Put the right key there",
    ],
  ])("%s", async (_what, change, message) => {
    using folder = folderWith();
    const key = join(folder.path, "secrets.key");
    await prepare(folder.path);
    const before = readFileSync(key, "utf8");
    change(key);
    const error = await startLocalIn(folder.path).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ name: "DataFolderError", kind: "secrets_key", path: key });
    expect((error as Error).message).toContain(message);
    writeFileSync(key, before);
    expect(await served(folder.path)).toBe("value of A value of B");
  });
});

test("warns if other users can access a key file outside of the folder", () => {
  using folder = folderWith({ key: newKey() });
  const key = join(folder.path, "key");
  const warned: unknown[] = [];
  const warn = (...args: unknown[]) => void warned.push(args);
  const logger: Logger = { debug: () => undefined, info: () => undefined, warn, error: warn };
  using db = openState(join(folder.path, "data"));
  fs.chmodSync(key, 0o600);
  prepareKey(db, folder.path, key, logger);
  expect(warned).toEqual([]);
  fs.chmodSync(key, 0o640);
  prepareKey(db, folder.path, key, logger);
  expect(warned).toMatchObject([
    [expect.stringContaining("set the mode of the file to 0600"), { keyFile: key, mode: "640" }],
  ]);
});

test("a folder without secrets replaces a damaged key, but no file outside of the folder", async () => {
  using folder = folderWith({ key: "other data" });
  const data = join(folder.path, "data");
  await (await startLocalIn(data))[Symbol.asyncDispose]();
  writeFileSync(join(data, "secrets.key"), "");
  await prepare(data);
  expect(await served(data)).toBe("value of A value of B");
  const options = { secretsKeyFile: join(folder.path, "key") };
  await expect(startLocalIn(join(folder.path, "other"), options)).rejects.toThrow("must contain 32 bytes as base64");
  expect(readFileSync(options.secretsKeyFile, "utf8")).toBe("other data");
});

test("a folder without secrets accepts a different key", async () => {
  using folder = folderWith();
  const key = join(folder.path, "secrets.key");
  await (await startLocalIn(folder.path))[Symbol.asyncDispose]();
  writeFileSync(key, newKey());
  await prepare(folder.path);
  expect(await served(folder.path)).toBe("value of A value of B");
});

test("a service does not start with the ciphertext of another secret", async () => {
  using folder = folderWith();
  await using platform = await startLocalIn(folder.path);
  await set(platform, "A", "value of A");
  await set(platform, "B", "value of B");
  {
    using db = new DatabaseSync(join(folder.path, "state.sqlite"));
    db.exec("UPDATE secrets SET sealed = (SELECT sealed FROM secrets WHERE name = 'B') WHERE name = 'A'");
  }
  const records = await platform.deploy(service, { env: { A: { secret: "A" } } });
  expect(records.at(-1)).toMatchObject({
    status: "ERROR",
    reason: "secret_unavailable",
    message: "Version 1 of the secret 'A' cannot be decrypted. Set a new value, then deploy again.",
  });
});

test("a service does not start with more secrets than an environment can hold", async () => {
  using folder = folderWith();
  await using platform = await startLocalIn(folder.path);
  await set(platform, "A", "x".repeat(65_536));
  const env = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`A${index}`, { secret: "A" }]));
  const records = await platform.deploy(service, { env });
  expect(records.at(-1)).toMatchObject({ status: "ERROR", reason: "secret_unavailable" });
  expect(records.at(-1)?.message).toMatch(/total 1114\d{3} bytes; the limit is 1048576/);
});

describe("a rekey", () => {
  test("encrypts every version under a new key", async () => {
    using folder = folderWith();
    const key = join(folder.path, "secrets.key");
    const before = await prepare(folder.path);
    const old = readFileSync(key, "utf8");
    expect(rekeySecrets({ dataDir: folder.path })).toEqual({ keyFile: key, versions: 2, discarded: 0 });
    expect(readFileSync(key, "utf8")).not.toBe(old);
    expect(modeOf(key)).toBe("600");
    expect(existsSync(`${key}.new`)).toBe(false);
    expect(await served(folder.path)).toBe("value of A value of B");
    await using platform = await startLocalIn(folder.path);
    const after = await list(platform);
    expect(after.map(({ versions }) => versions.map(({ version }) => version))).toEqual([[1], [1]]);
    expect(after[0]?.versions[0]?.digest).not.toBe(before[0]?.versions[0]?.digest);
    // The digests fit the new key, so the same value makes no new version.
    expect(await set(platform, "A", "value of A")).toMatchObject({ version: 1, deploys: [] });
  });

  test("is refused while a server uses the folder, and without the right key", async () => {
    using folder = folderWith();
    await prepare(folder.path);
    {
      await using _platform = await startLocalIn(folder.path);
      expect(() => rekeySecrets({ dataDir: folder.path })).toThrow(/Another Portside server uses the data folder/);
    }
    writeFileSync(join(folder.path, "secrets.key"), newKey());
    expect(() => rekeySecrets({ dataDir: folder.path })).toThrow(/does not contain the key that encrypted/);
    expect(() => rekeySecrets({ dataDir: join(folder.path, "none") })).toThrow(/contains no data/);
  });

  test("that ends before its commit keeps the key, and one that ends after it is completed by the next start", async () => {
    using folder = folderWith();
    const key = join(folder.path, "secrets.key");
    await prepare(folder.path);
    writeFileSync(`${key}.new`, newKey());
    expect(await served(folder.path)).toBe("value of A value of B");
    expect(existsSync(`${key}.new`)).toBe(false);

    copyFileSync(key, `${key}.old`);
    rekeySecrets({ dataDir: folder.path });
    renameSync(key, `${key}.new`);
    renameSync(`${key}.old`, key);
    expect(await served(folder.path)).toBe("value of A value of B");
    expect(existsSync(`${key}.new`)).toBe(false);
  });

  test("changes nothing if the key file cannot be replaced", async () => {
    using folder = folderWith();
    const key = join(folder.path, "secrets.key");
    await prepare(folder.path);
    const before = readFileSync(key, "utf8");
    {
      using _mount = mountPoint(key);
      for (const discard of [false, true])
        expect(() => rekeySecrets({ dataDir: folder.path, discard })).toThrow(
          /secrets.key cannot be replaced \(EBUSY.* Copy the file to a folder that Portside can write to, name the copy/,
        );
    }
    expect(readFileSync(key, "utf8")).toBe(before);
    expect(filesLike(key)).toEqual(["secrets.key"]);
    expect(await served(folder.path)).toBe("value of A value of B");
  });

  test("that cannot be completed leaves the new key in use, and a warning", async () => {
    using folder = folderWith();
    const key = join(folder.path, "secrets.key");
    await prepare(folder.path);
    copyFileSync(key, `${key}.old`);
    rekeySecrets({ dataDir: folder.path });
    renameSync(key, `${key}.new`);
    renameSync(`${key}.old`, key);
    {
      using _mount = mountPoint(key);
      const warned: unknown[] = [];
      const warn = (...args: unknown[]) => void warned.push(args);
      const logger: Logger = { debug: () => undefined, info: () => undefined, warn, error: warn };
      using db = openState(folder.path);
      const { check } = prepareKey(db, folder.path, undefined, logger);
      expect(warned).toMatchObject([[expect.stringContaining("cannot be replaced"), { newKeyFile: `${key}.new` }]]);
      expect(loadCipher(key, check).check).toBe(check);
      db.close();
      expect(() => rekeySecrets({ dataDir: folder.path })).toThrow(/cannot be replaced/);
      expect(await served(folder.path)).toBe("value of A value of B");
    }
    expect(rekeySecrets({ dataDir: folder.path })).toMatchObject({ versions: 2 });
    expect(await served(folder.path)).toBe("value of A value of B");
  });

  test("changes nothing if a ciphertext is damaged", async () => {
    using folder = folderWith();
    await prepare(folder.path);
    {
      using db = openState(folder.path);
      db.exec("UPDATE secrets SET sealed = zeroblob(40) WHERE name = 'A'");
    }
    const key = readFileSync(join(folder.path, "secrets.key"), "utf8");
    expect(() => rekeySecrets({ dataDir: folder.path })).toThrow(
      /Version 1 of the secret 'A' of the account 'acme' cannot be decrypted/,
    );
    expect(readFileSync(join(folder.path, "secrets.key"), "utf8")).toBe(key);
    using db = openState(folder.path);
    expect(prepareKey(db, folder.path, undefined).check).toMatch(/^[0-9a-f]{64}$/);
  });

  test("with discard deletes all secrets, for a lost key", async () => {
    using folder = folderWith();
    await prepare(folder.path);
    rmSync(join(folder.path, "secrets.key"));
    expect(rekeySecrets({ dataDir: folder.path, discard: true })).toMatchObject({ versions: 0, discarded: 2 });
    await using platform = await startLocalIn(folder.path);
    expect(await list(platform)).toEqual([]);
    expect(await set(platform, "A", "again")).toMatchObject({ version: 2 });
  });
});

describe("a backup", () => {
  test("leaves the key out, and the restore names the place where it is needed", async () => {
    using folder = folderWith();
    const [data, file, restored] = ["data", "backup.tar.gz", "restored"].map((name) => join(folder.path, name)) as [
      string,
      string,
      string,
    ];
    await prepare(data);
    const { leftOut } = await backupDataFolder({ dataDir: data, file });
    expect(leftOut).toEqual([]);
    const key = join(restored, "secrets.key");
    expect(await restoreDataFolder({ file, dataDir: restored })).toMatchObject({ missingKey: key });
    await expect(startLocalIn(restored)).rejects.toThrow("is missing. Put the right key there");
    copyFileSync(join(data, "secrets.key"), key);
    expect(await served(restored)).toBe("value of A value of B");
  });

  test("contains the key if the operator asks for it", async () => {
    using folder = folderWith();
    const [data, file, restored] = ["data", "backup.tar.gz", "restored"].map((name) => join(folder.path, name)) as [
      string,
      string,
      string,
    ];
    await prepare(data);
    await backupDataFolder({ dataDir: data, file, withSecretsKey: true });
    expect(await restoreDataFolder({ file, dataDir: restored })).toMatchObject({ missingKey: undefined });
    expect(modeOf(join(restored, "secrets.key"))).toBe("600");
    expect(await served(restored)).toBe("value of A value of B");
  });

  test("contains the new key of an interrupted rekey, and fails without the right key", async () => {
    using folder = folderWith();
    const [data, file, restored] = ["data", "backup.tar.gz", "restored"].map((name) => join(folder.path, name)) as [
      string,
      string,
      string,
    ];
    await prepare(data);
    const key = join(data, "secrets.key");
    rekeySecrets({ dataDir: data });
    renameSync(key, `${key}.new`);
    writeFileSync(key, newKey());
    await backupDataFolder({ dataDir: data, file, withSecretsKey: true });
    await restoreDataFolder({ file, dataDir: restored });
    expect(modeOf(join(restored, "secrets.key"))).toBe("600");
    expect(await served(restored)).toBe("value of A value of B");
    rmSync(`${key}.new`);
    await expect(backupDataFolder({ dataDir: data, file, replace: true, withSecretsKey: true })).rejects.toMatchObject({
      kind: "secrets_key",
      message: expect.stringContaining(
        "is missing, or is not the key that encrypted the stored secrets. Put the right",
      ),
    });
  });

  test("of a folder without secrets needs no key", async () => {
    using folder = folderWith();
    const [data, file, restored] = ["data", "backup.tar.gz", "restored"].map((name) => join(folder.path, name)) as [
      string,
      string,
      string,
    ];
    await (await startLocalIn(data))[Symbol.asyncDispose]();
    await backupDataFolder({ dataDir: data, file });
    expect(await restoreDataFolder({ file, dataDir: restored })).toMatchObject({ missingKey: undefined });
  });
});
