/** API keys: their format, their stored records, and the immediate effect of a revocation. */
import { describe, expect, test } from "vitest";
import { createMemoryKeys } from "../../../../adapters/memory/accounts/keys.ts";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { createWorld } from "../../../../adapters/memory/world.ts";
import { createApiKeys } from "../../../../adapters/shared/accounts/api-keys.ts";
import type { KeyRecords } from "../../../../adapters/shared/accounts/key-record.ts";
import { randomIds } from "../../../../adapters/shared/runtime/system.ts";
import { type AccountId, parseAccount } from "../../../../core/domain/accounts/account.ts";

const acme = parseAccount("acme") as AccountId;
const beta = parseAccount("beta") as AccountId;

const setUp = (wrap: (records: KeyRecords) => KeyRecords = (records) => records, ids = randomIds) => {
  const world = createWorld();
  const clock = createManualClock();
  const warnings: unknown[] = [];
  const logger = {
    debug: () => {},
    info: () => {},
    warn: (...args: unknown[]) => warnings.push(args),
    error: () => {},
  };
  const keys = createApiKeys({ records: wrap(createMemoryKeys(world)), clock, ids, logger });
  const who = async (value: string) =>
    (await keys.authenticate({ kind: "api_key", value })).match(
      ({ account }) => account as string,
      ({ kind }) => kind,
    );
  const make = async (account = acme, label = "ci") => (await keys.create(account, label))._unsafeUnwrap();
  return { world, clock, keys, who, make, warnings };
};

test("a key is 'psk_' and 40 base62 characters, and all keys differ", async () => {
  const { make } = setUp();
  const made = await Promise.all(Array.from({ length: 50 }, () => make()));
  for (const { key } of made) expect(key).toMatch(/^psk_[0-9A-Za-z]{40}$/);
  expect(new Set(made.map(({ key }) => key)).size).toBe(50);
  // Every character of the alphabet occurs.
  expect(new Set(made.flatMap(({ key }) => [...key.slice(4)])).size).toBe(62);
});

test("the stored record identifies a key and does not reveal it", async () => {
  const { make, world, keys } = setUp();
  const { key, prefix, id } = await make();
  expect(key.startsWith(prefix)).toBe(true);
  expect(prefix).toHaveLength(12);
  expect(JSON.stringify([...world.keys])).not.toContain(key.slice(prefix.length));
  const listed = (await keys.list(acme))._unsafeUnwrap();
  expect(listed).toEqual([{ id, account: acme, label: "ci", prefix, createdAt: expect.any(String), lastUsedAt: null }]);
});

describe("authentication", () => {
  test("identifies the account of a key", async () => {
    const { make, who } = setUp();
    const [a, b] = [await make(acme), await make(beta)];
    expect([await who(a.key), await who(b.key)]).toEqual(["acme", "beta"]);
  });

  test("rejects a key with one wrong character", async () => {
    const { make, who } = setUp();
    const { key } = await make();
    const other = (letter: string | undefined) => (letter === "a" ? "b" : "a");
    for (const at of [4, 11, 12, 20, 43])
      expect(await who(key.slice(0, at) + other(key[at]) + key.slice(at + 1))).toBe("unauthenticated");
  });

  test.each([
    "",
    "psk_",
    "psk_short",
    `psk_${"a".repeat(41)}`,
    `psk_${"é".repeat(40)}`,
    `PSK_${"a".repeat(40)}`,
    " ",
    "\0",
  ])("rejects %j", async (value) => {
    expect(await setUp().who(value)).toBe("unauthenticated");
  });

  test("distinguishes two keys with the same prefix", async () => {
    const alike = { ...randomIds, secret: (length: number) => `12345678${randomIds.secret(length - 8)}` };
    const { make, who } = setUp(undefined, alike);
    const [a, b] = [await make(acme), await make(beta)];
    expect(a.prefix).toBe(b.prefix);
    expect([await who(a.key), await who(b.key)]).toEqual(["acme", "beta"]);
  });
});

describe("a revoked key", () => {
  test("is rejected immediately, even if it was cached", async () => {
    const { make, keys, who } = setUp();
    const { key, id } = await make();
    expect(await who(key)).toBe("acme");
    expect((await keys.revoke(acme, id)).isOk()).toBe(true);
    expect(await who(key)).toBe("unauthenticated");
  });

  test("is not cached by a lookup that began before the revocation", async () => {
    const held = Promise.withResolvers<void>();
    const { make, keys, who } = setUp((records) => ({
      ...records,
      withPrefix: async (prefix) => {
        const found = await records.withPrefix(prefix);
        await held.promise;
        return found;
      },
    }));
    const { key, id } = await make();
    const before = who(key);
    expect((await keys.revoke(acme, id)).isOk()).toBe(true);
    held.resolve();
    await before;
    expect(await who(key)).toBe("unauthenticated");
  });

  test("cannot be revoked by another account, or twice", async () => {
    const { make, keys, who } = setUp();
    const { key, id } = await make();
    expect((await keys.revoke(beta, id))._unsafeUnwrapErr().kind).toBe("not_found");
    expect(await who(key)).toBe("acme");
    expect((await keys.revoke(acme, id)).isOk()).toBe(true);
    expect((await keys.revoke(acme, id))._unsafeUnwrapErr().kind).toBe("not_found");
  });

  test("is rejected on other replicas within ten seconds", async () => {
    const { make, world, who, clock } = setUp();
    const { key, id } = await make();
    expect(await who(key)).toBe("acme");
    world.keys.delete(id);
    await clock.advance(10_000);
    expect(await who(key)).toBe("unauthenticated");
  });
});

describe("the time of a key's last use", () => {
  const lastUse = async ({ keys }: ReturnType<typeof setUp>) => (await keys.list(acme))._unsafeUnwrap()[0]?.lastUsedAt;

  test("is recorded at most once a minute", async () => {
    const set = setUp();
    const { key } = await set.make();
    expect(await lastUse(set)).toBeNull();
    await set.who(key);
    expect(await lastUse(set)).toBe("2026-01-01T00:00:00+00:00");
    await set.clock.advance(59_000);
    await set.who(key);
    expect(await lastUse(set)).toBe("2026-01-01T00:00:00+00:00");
    await set.clock.advance(1000);
    await set.who(key);
    expect(await lastUse(set)).toBe("2026-01-01T00:01:00+00:00");
  });

  test("a failure to record it does not reject the key, and is logged without the key", async () => {
    const set = setUp((records) => ({ ...records, used: () => Promise.reject(new Error("disk full")) }));
    const { key } = await set.make();
    expect(await set.who(key)).toBe("acme");
    await Promise.resolve();
    expect(set.warnings).toHaveLength(1);
    expect(JSON.stringify(set.warnings)).not.toContain(key.slice(12));
  });
});

test("every call fails with unavailable if the store does not respond", async () => {
  const down = () => Promise.reject(new Error("connection refused"));
  const { who, keys } = setUp(() => ({ insert: down, withPrefix: down, ofAccount: down, remove: down, used: down }));
  expect(await who(`psk_${"a".repeat(40)}`)).toBe("unavailable");
  expect((await keys.create(acme, "ci"))._unsafeUnwrapErr().kind).toBe("unavailable");
  expect((await keys.list(acme))._unsafeUnwrapErr().kind).toBe("unavailable");
  expect((await keys.revoke(acme, "id"))._unsafeUnwrapErr().kind).toBe("unavailable");
});
