/** A fair semaphore: no key has two permits, every key gets its turn, and a cancelled wait costs nothing. */
import { expect, test } from "vitest";
import { FairSemaphore } from "../../../../adapters/shared/runtime/fair-semaphore.ts";

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Runs tasks that start with a permit and end when the test says so. */
const taskRunner = (turns: FairSemaphore) => {
  const running: string[] = [];
  const ends = new Map<string, () => void>();
  const begin = (who: string, name: string, signal?: AbortSignal) =>
    turns.take(who, signal, async () => {
      running.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
      running.splice(running.indexOf(name), 1);
      return name;
    });
  const end = async (name: string) => {
    ends.get(name)?.();
    await settled();
  };
  return { running, begin, end };
};

test("gives a key one permit at a time, and serves other keys before its next request", async () => {
  const { running, begin, end } = taskRunner(new FairSemaphore(2));
  const all = [begin("a", "a1"), begin("a", "a2"), begin("a", "a3"), begin("b", "b1"), begin("c", "c1")];
  await settled();
  expect(running).toEqual(["a1", "b1"]);
  await end("b1");
  expect(running).toEqual(["a1", "c1"]);
  await end("a1");
  expect(running).toEqual(["c1", "a2"]);
  await end("a2");
  await end("c1");
  expect(running).toEqual(["a3"]);
  await end("a3");
  expect(await Promise.all(all)).toEqual(["a1", "a2", "a3", "b1", "c1"]);
});

test("releases the permit of failed work, and never starts cancelled work", async () => {
  const turns = new FairSemaphore(1);
  const { running, begin, end } = taskRunner(turns);
  await expect(turns.take("a", undefined, () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
  const first = begin("a", "a1");
  const given = new AbortController();
  const gone = begin("b", "b1", given.signal);
  const next = begin("c", "c1");
  given.abort(new Error("given up"));
  await expect(gone).rejects.toThrow("given up");
  await expect(begin("d", "d1", given.signal)).rejects.toThrow("given up");
  await end("a1");
  expect(running).toEqual(["c1"]);
  await end("c1");
  expect([await first, await next]).toEqual(["a1", "c1"]);
});

test("permits several tasks of a key, but leaves a permit for other keys", async () => {
  const { running, begin, end } = taskRunner(new FairSemaphore(3, 2));
  const all = [begin("a", "a1"), begin("a", "a2"), begin("a", "a3"), begin("a", "a4")];
  await settled();
  expect(running).toEqual(["a1", "a2"]);
  all.push(begin("b", "b1"), begin("b", "b2"));
  await settled();
  expect(running).toEqual(["a1", "a2", "b1"]);
  // Both keys hold one permit, and `a3` has waited longest.
  await end("a1");
  expect(running).toEqual(["a2", "b1", "a3"]);
  await end("b1");
  expect(running).toEqual(["a2", "a3", "b2"]);
  for (const name of ["a2", "a3", "b2", "a4"]) await end(name);
  expect(await Promise.all(all)).toEqual(["a1", "a2", "a3", "a4", "b1", "b2"]);
});
