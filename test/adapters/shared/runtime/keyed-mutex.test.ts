/** Runs work with the same key one at a time. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { KeyedMutex } from "../../../../adapters/shared/runtime/keyed-mutex.ts";

const never = new AbortController().signal;

test("runs work with one key in sequence, and with another key concurrently", async () => {
  const turns = new KeyedMutex();
  const steps: string[] = [];
  const work = (name: string) => async () => {
    steps.push(`${name} begins`);
    await sleep(20);
    steps.push(`${name} ends`);
    return name;
  };
  const all = [turns.take("a", never, work("1")), turns.take("a", never, work("2")), turns.take("b", never, work("3"))];
  expect(await Promise.all(all)).toEqual(["1", "2", "3"]);
  expect(steps.slice(0, 2)).toEqual(["1 begins", "3 begins"]);
  expect(steps.indexOf("2 begins")).toBeGreaterThan(steps.indexOf("1 ends"));
});

test("a failure rejects its own call only, and the next one runs", async () => {
  const turns = new KeyedMutex();
  const failing = turns.take("a", never, () => Promise.reject(new Error("broken")));
  const next = turns.take("a", never, async () => "fine");
  await expect(failing).rejects.toThrow("broken");
  expect(await next).toBe("fine");
});

test("an aborted waiter rejects immediately, and later ones still wait", async () => {
  const turns = new KeyedMutex();
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  let running = 0;
  const work = async () => {
    running++;
    expect(running).toBe(1);
    await gate;
    running--;
  };
  const first = turns.take("a", never, work);
  const leaving = new AbortController();
  let started = false;
  const second = turns.take("a", leaving.signal, async () => {
    started = true;
  });
  leaving.abort(new Error("gone"));
  await expect(second).rejects.toThrow("gone");
  const third = turns.take("a", never, work);
  await sleep(20);
  expect(running).toBe(1);
  open();
  await Promise.all([first, third]);
  expect(started).toBe(false);
});

test("does not start work that was aborted before", async () => {
  const work = () => Promise.reject(new Error("begun"));
  await expect(new KeyedMutex().take("a", AbortSignal.abort(new Error("gone")), work)).rejects.toThrow("gone");
});
