/** Which results the cache keeps, and which calls it shares. Billing tests its use for a single key. */
import { expect, test } from "vitest";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { CachedCalls, type CachedCallsOptions } from "../../../../adapters/shared/calls/cached-calls.ts";
import { plusMillis } from "../../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../../core/errors.ts";
import { err, ok, okAsync, ResultAsync } from "../../../../core/result.ts";

type Options = CachedCallsOptions<string, string | undefined>;

/** Reads return the upper-case key, or undefined for keys that begin with `-`. */
const open = (more: Partial<Options> = {}) => {
  const clock = createManualClock();
  const reads: (readonly string[])[] = [];
  const answer = (keys: readonly string[]) => keys.map((key) => (key.startsWith("-") ? undefined : key.toUpperCase()));
  const cache = new CachedCalls<string, string | undefined>({
    clock,
    textOf: (key) => key,
    expiryOf: (now) => plusMillis(now, 1000),
    maxSize: 3,
    sizeOf: (result) => result?.length ?? 0,
    ...more,
    read: (keys) => {
      reads.push(keys);
      return more.read?.(keys) ?? okAsync(answer(keys));
    },
  });
  const get = async (...keys: string[]) => (await cache.getAll(keys))._unsafeUnwrap();
  return { clock, reads, cache, get };
};

test("reads only the missing keys, each once, and returns the results in the order of the call", async () => {
  const { reads, get } = open();
  expect(await get("b")).toEqual(["B"]);
  expect(await get("a", "b", "a", "c")).toEqual(["A", "B", "A", "C"]);
  expect(reads).toEqual([["b"], ["a", "c"]]);
});

test("discards results that have expired, and then the oldest", async () => {
  const { clock, reads, get } = open();
  await get("a");
  await clock.advance(500);
  await get("b", "c");
  await get("d");
  await get("b", "c", "d");
  expect(reads).toEqual([["a"], ["b", "c"], ["d"]]);
  // `a` was the oldest, and now `b` is.
  await get("a");
  expect(reads).toHaveLength(4);
  await clock.advance(999);
  await get("c", "d", "a");
  expect(reads).toHaveLength(4);
  await clock.advance(1);
  await get("c");
  expect(reads).toHaveLength(5);
});

test("keeps no result of size 0, and none that alone exceeds the limit", async () => {
  const { reads, get } = open();
  for (let times = 0; times < 2; times++) expect(await get("-")).toEqual([undefined]);
  expect(reads).toHaveLength(2);
  for (let times = 0; times < 2; times++) expect(await get("long")).toEqual(["LONG"]);
  expect(reads).toHaveLength(4);
  await get("a");
  await get("a");
  expect(reads).toHaveLength(5);
});

test("a result that is older than its expiry when it arrives is not used again", async () => {
  const arrived = Promise.withResolvers<void>();
  const { clock, reads, cache, get } = open({
    read: () => new ResultAsync(arrived.promise.then(() => okAsync(["A"]))),
  });
  const first = cache.getAll(["a"]);
  await clock.advance(1000);
  arrived.resolve();
  expect((await first)._unsafeUnwrap()).toEqual(["A"]);
  await get("a");
  expect(reads).toHaveLength(2);
});

test("shares a call for one of several keys, and does not cache failures", async () => {
  let isDown = true;
  const released = Promise.withResolvers<void>();
  const read = (keys: readonly string[]) =>
    new ResultAsync(
      released.promise.then(() => (isDown ? err(unavailable("down")) : ok<string[], Unavailable>([...keys]))),
    );
  const { reads, cache } = open({ read });
  const calls = [cache.getAll(["a", "b"]), cache.getAll(["b", "c"])];
  expect(reads).toEqual([["a", "b"], ["c"]]);
  released.resolve();
  for (const call of calls) expect((await call)._unsafeUnwrapErr().message).toBe("down");
  isDown = false;
  expect((await cache.getAll(["b"]))._unsafeUnwrap()).toEqual(["b"]);
  expect(reads).toHaveLength(3);
});

test("an exception reaches every caller, and the next call reads again", async () => {
  let isBroken = true;
  const { cache, get } = open({
    read: (keys) => {
      if (isBroken) throw new Error("a bug");
      return okAsync([...keys]);
    },
  });
  const calls = [cache.getAll(["a"]), cache.getAll(["a"])].map(async (call) => call);
  for (const one of await Promise.allSettled(calls)) expect(one).toMatchObject({ reason: { message: "a bug" } });
  isBroken = false;
  expect(await get("a")).toEqual(["a"]);
});

test("a caller that aborts fails immediately, and the others get the result", async () => {
  const released = Promise.withResolvers<void>();
  const { cache } = open({ read: (keys) => new ResultAsync(released.promise.then(() => okAsync([...keys]))) });
  const leaving = new AbortController();
  const [left, stayed] = [cache.getAll(["a"], { signal: leaving.signal }), cache.getAll(["a"])];
  leaving.abort();
  expect((await left)._unsafeUnwrapErr().message).toBe("The request was cancelled.");
  released.resolve();
  expect((await stayed)._unsafeUnwrap()).toEqual(["a"]);
});
