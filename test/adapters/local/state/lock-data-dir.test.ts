/** The locks of a data folder: one engine at a time, and no third process between two engines of an upgrade. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  beginTakeover,
  type Lock,
  lockDataDir,
  lockUnusedFolder,
  type Takeover,
} from "../../../../adapters/local/state/lock-data-dir.ts";
import { runs } from "../../../support/vitest/runs.ts";

let folder: string;
const children: ChildProcess[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "portside-lock-"));
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

const refused = expect.objectContaining({ name: "DataFolderError", kind: "in_use" });

/** Every way in which another process can try to use the folder. */
const expectRefusal = (): void => {
  expect(() => lockDataDir(folder)).toThrow(refused);
  expect(() => lockUnusedFolder(folder, "in use")).toThrow(refused);
};

const expectFree = (): void => {
  lockDataDir(folder).release();
  lockUnusedFolder(folder, "in use")?.release();
};

interface Held {
  lock?: Lock | undefined;
  takeover?: Takeover | undefined;
}

const isFree = ({ lock, takeover }: Held): boolean => lock === undefined && takeover === undefined;

/** Each step succeeds if the current locks permit it. Otherwise, it expects a refusal. */
const steps: Readonly<Record<string, (held: Held) => Promise<void>>> = {
  start: async (held) => {
    if (isFree(held)) held.lock = lockDataDir(folder);
    else expectRefusal();
  },
  restore: async (held) => {
    if (isFree(held)) lockUnusedFolder(folder, "in use")?.release();
    else expectRefusal();
  },
  "begin an upgrade": async (held) => {
    held.takeover ??= await beginTakeover(folder);
  },
  "take over": async (held) => {
    const { lock, takeover } = held;
    if (takeover === undefined) return;
    if (lock !== undefined) return expect(takeover.lockDataDir(0)).rejects.toEqual(refused);
    held.lock = await takeover.lockDataDir(0);
    held.takeover = undefined;
  },
  "abandon an upgrade": async (held) => {
    held.takeover?.release();
    held.takeover = undefined;
  },
  end: async (held) => {
    held.lock?.release();
    held.lock = undefined;
  },
};

test("admits one engine in every order of starts, upgrades, restores and ends", async () => {
  const orders = fc.array(fc.constantFrom(...Object.keys(steps)), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(orders, async (order) => {
      const held: Held = {};
      for (const step of order) await steps[step]?.(held);
      held.lock?.release();
      held.takeover?.release();
      expectFree();
    }),
    runs(60),
  );
});

const module = join(import.meta.dirname, "..", "..", "..", "..", "adapters/local/state/lock-data-dir.ts");
const ENGINE = `const { lockDataDir, beginTakeover } = await import(${JSON.stringify(module)});
const folder = process.argv[1];
let held;
process.on("message", async (step) => {
  if (step === "start") held = lockDataDir(folder);
  if (step === "begin") held = await beginTakeover(folder);
  if (step === "take over") process.send("waits");
  if (step === "take over") held = await held.lockDataDir(60_000);
  if (step === "release") held.release();
  process.send("done");
});
process.send("ready");`;

/** An engine in a separate process, which locks the folder on command. */
const startEngine = async () => {
  const child = spawn(process.execPath, ["--input-type=module", "-e", ENGINE, folder], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  children.push(child);
  await once(child, "message");
  const step = async (name: string): Promise<void> => {
    child.send(name);
    await once(child, "message");
  };
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  const done = async (): Promise<void> => void (await once(child, "message"));
  return { step, kill, done };
};

describe("an upgrade", () => {
  test.each(["releases the folder", "is killed"])("refuses a third process while the first engine %s", async (how) => {
    const [first, second] = [await startEngine(), await startEngine()];
    await first.step("start");
    expectRefusal();
    await second.step("begin");
    expectRefusal();
    await second.step("take over");
    expectRefusal();
    const ended = how === "is killed" ? first.kill() : first.step("release");
    // The first engine releases the folder at some moment of this loop, and the second one takes it.
    let isTaken = false;
    const taken = second.done().then(() => {
      isTaken = true;
    });
    while (!isTaken) {
      expectRefusal();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all([ended, taken]);
    expectRefusal();
    await second.step("release");
    expectFree();
  });

  test("leaves the folder to the first engine if the second is killed", async () => {
    const [first, second] = [await startEngine(), await startEngine()];
    await first.step("start");
    await second.step("begin");
    await second.step("take over");
    await second.kill();
    expectRefusal();
    await first.step("release");
    expectFree();
  });

  test("keeps the start lock after a timeout, and releases it only once", async () => {
    const lock = lockDataDir(folder);
    const takeover = await beginTakeover(folder);
    await expect(takeover.lockDataDir(20)).rejects.toEqual(refused);
    lock.release();
    expectRefusal();
    const taken = await takeover.lockDataDir(20);
    takeover.release();
    expectRefusal();
    taken.release();
    expectFree();
  });

  test("waits for a process that is about to find the folder in use", async () => {
    const held = await beginTakeover(folder);
    const second = beginTakeover(folder);
    setTimeout(() => held.release(), 50);
    (await second).release();
    expectFree();
  });

  test("refuses a second upgrade", async () => {
    using _first = await beginTakeover(folder);
    await expect(beginTakeover(folder)).rejects.toEqual(refused);
  });
});

test("starts with a damaged start lock, and still admits only one engine", async () => {
  expectFree();
  writeFileSync(join(folder, "start-lock.sqlite"), "not a database ".repeat(1000));
  const takeover = await beginTakeover(folder);
  expectRefusal();
  takeover.release();
  expectFree();
});

test("a restore creates no lock in a folder without one", () => {
  expect(lockUnusedFolder(folder, "in use")).toBeUndefined();
  rmSync(folder, { recursive: true });
  expect(lockUnusedFolder(folder, "in use")).toBeUndefined();
});
