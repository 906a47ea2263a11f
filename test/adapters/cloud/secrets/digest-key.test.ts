/** The key of the digests: who creates it, how often it is read, and which keys are refused. */
import { expect, test } from "vitest";
import { createDigestKey } from "../../../../adapters/cloud/secrets/digest-key.ts";
import { unavailable } from "../../../../core/errors.ts";
import { errAsync, okAsync } from "../../../../core/result.ts";

/** A store that keeps the first key that it receives. */
const store = (stored: string | null = null) => {
  const calls: string[] = [];
  let key = stored;
  return {
    calls,
    read: () => {
      calls.push("read");
      return okAsync<string | null>(key);
    },
    create: (created: Buffer) => {
      calls.push("create");
      key ??= created.toString("hex");
      return okAsync(undefined);
    },
  };
};

test("creates a key of 32 random bytes, and reads it once", async () => {
  const first = store();
  const digestKey = createDigestKey(first);
  const key = (await digestKey({}))._unsafeUnwrap();
  expect(key).toMatch(/^[0-9a-f]{64}$/);
  expect((await digestKey({}))._unsafeUnwrap()).toBe(key);
  expect(first.calls).toEqual(["read", "create", "read"]);
  expect((await createDigestKey(store())({}))._unsafeUnwrap()).not.toBe(key);
});

test("returns the stored key, even if another process stores it during the creation", async () => {
  expect((await createDigestKey(store("theirs"))({}))._unsafeUnwrap()).toBe("theirs");
  const late = store();
  const create = (key: Buffer) => late.create(Buffer.from("ab", "hex")).andThen(() => late.create(key));
  expect((await createDigestKey({ ...late, create })({}))._unsafeUnwrap()).toBe("ab");
});

test("fails while the key is not visible, and reads it again later", async () => {
  let visible = false;
  const hidden = store();
  const read = () => (visible ? hidden.read() : okAsync<string | null>(null));
  const digestKey = createDigestKey({ ...hidden, read });
  expect((await digestKey({}))._unsafeUnwrapErr()).toMatchObject({
    kind: "unavailable",
    message: "The key for digests of secrets is not available yet. Try again.",
  });
  visible = true;
  expect((await digestKey({}))._unsafeUnwrap()).toHaveLength(64);
});

test("fails if the stored key is empty, or the store does not respond", async () => {
  expect((await createDigestKey(store(""))({}))._unsafeUnwrapErr().message).toContain("is empty");
  const down = { ...store(), read: () => errAsync(unavailable("The store is down.")) };
  expect((await createDigestKey<string>(down)({}))._unsafeUnwrapErr().message).toBe("The store is down.");
});
