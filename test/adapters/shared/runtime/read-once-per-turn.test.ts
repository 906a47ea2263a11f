import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { readOncePerTurn } from "../../../../adapters/shared/runtime/read-once-per-turn.ts";

test("calls of one turn share one read for each key, which starts after the last of them", async () => {
  const events: string[] = [];
  const read = readOncePerTurn((key: string) => {
    events.push(`read ${key}`);
    return events.length;
  });
  const calls = ["a", "b", "a"].map((key) => {
    events.push(`call ${key}`);
    return read(key);
  });
  expect(await Promise.all(calls)).toEqual([4, 5, 4]);
  expect(events).toEqual(["call a", "call b", "call a", "read a", "read b"]);
});

test("a call during a read starts another read", async () => {
  const ends: ((value: number) => void)[] = [];
  const read = readOncePerTurn(() => new Promise<number>((resolve) => void ends.push(resolve)));
  const first = read("a");
  await turn();
  const second = read("a");
  await turn();
  ends.forEach((end, index) => {
    end(index);
  });
  expect(await Promise.all([first, second])).toEqual([0, 1]);
});

test("a read that throws rejects its own calls only", async () => {
  let fails = true;
  const read = readOncePerTurn(() => {
    if (fails) throw new Error("no disk");
    return "read";
  });
  await Promise.all([1, 2].map(() => expect(read("a")).rejects.toThrow("no disk")));
  fails = false;
  expect(await read("a")).toBe("read");
});
