/**
 * The scope is the name that marks an engine's processes, control groups and containers. The next engine of the data
 * folder uses the scope to find and end leftovers. During an upgrade, two engines share a scope.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { statSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../../../core/ports/system.ts";
import { DataFolderError } from "../data-folder/data-folder-error.ts";

export interface Scope {
  readonly name: string;
  release(): Promise<void>;
}

interface Remembered {
  get(): string | undefined;
  set(value: string): void;
}

const socketOf = (name: string): string => `\0portside-scope-${name}`;

/**
 * Returns an identity of the data folder that does not depend on its path. A copy of the folder has a different
 * identity.
 */
const identityOf = (dataDir: string): string => {
  const { dev, ino } = statSync(dataDir);
  return `${dev}:${ino}`;
};

/**
 * Holds the name until the process ends, or returns undefined if another process holds it. Linux only: listens on an
 * abstract Unix socket, which the kernel closes even if the process is killed. A client of the socket receives
 * the identity of the data folder.
 */
const hold = async (name: string, dataDir: string): Promise<Server | undefined> => {
  const identity = identityOf(dataDir);
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.end(identity, () => socket.destroy());
  });
  server.unref();
  try {
    server.listen(socketOf(name));
    await once(server, "listening");
    return server;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") return undefined;
    throw error;
  }
};

const close = (server: Server): Promise<void> => new Promise((resolve) => server.close(() => resolve()));

/** The name that an engine holds while an earlier engine of the scope still holds the scope's own name. */
const successorOf = (name: string): string => `${name}.successor`;

/** Holds the name of a scope that no engine uses. Returns undefined if an engine or its successor uses the scope. */
const holdUnused = async (name: string, dataDir: string): Promise<Server | undefined> => {
  const held = await hold(name, dataDir);
  if (held === undefined) return undefined;
  const successor = await hold(successorOf(name), dataDir);
  await close(successor ?? held);
  return successor && held;
};

const POLL_MS = 100;
/** How long to wait for the identity from the process that holds the name. Another program could hold the name. */
const ANSWER_MS = 2000;

/** Returns whether a process that uses the data folder holds the name. */
const isHeldFor = async (name: string, dataDir: string): Promise<boolean> => {
  const socket = connect(socketOf(name)).setTimeout(ANSWER_MS, () => socket.destroy());
  return (await text(socket).catch(() => "")) === identityOf(dataDir);
};

/** How long a start waits for an earlier engine of the folder, which may still be finishing requests. */
const END_MS = 60_000;

/**
 * Waits until no engine of the data folder uses the scope, and then holds the scope's name. Returns undefined if an
 * engine of another data folder uses the scope.
 */
const holdWhenUnused = async (name: string, dataDir: string): Promise<Server | undefined> => {
  for (const ends = performance.now() + END_MS; ; await sleep(POLL_MS)) {
    const held = await holdUnused(name, dataDir);
    if (held !== undefined) return held;
    // The engine may have ended in the meantime.
    if (!(await isHeldFor(name, dataDir))) return holdUnused(name, dataDir);
    if (performance.now() >= ends)
      throw new DataFolderError(
        "in_use",
        dataDir,
        `An earlier Portside server is still finishing requests for the data folder ${dataDir}. Wait until it has ended.`,
      );
  }
};

/** Returns the name of the scope for a stored value. */
export const scopeName = (value: string): string => value.slice(0, 16);

/**
 * Returns a new prefix for the ids of one engine's jobs, which distinguishes the engines of a scope. The complete id of
 * a job consists of the scope, a random part for the engine, and a part for the job.
 */
export const newMark = (scope: string): string => `${scope}.${randomBytes(4).toString("hex")}`;

/** Removes the scope from a job's id or from a mark. The result is unique in a data folder. */
export const withoutScope = (id: string): string => id.slice(id.indexOf(".") + 1);

const makeNew = (remembered: Remembered): string => {
  const value = randomUUID().replaceAll("-", "");
  remembered.set(value);
  return scopeName(value);
};

/**
 * Takes the scope of the data folder, which this process must have locked. After an upgrade, waits until the previous
 * engine has ended. Throws a `DataFolderError` of kind `in_use` if that takes more than a minute.
 *
 * A copied data folder contains the scope of the original. If the original's server runs, assigns a new scope to the
 * copy. Otherwise, the copy's server would end the original's instances.
 */
export const takeScope = async (remembered: Remembered, dataDir: string, logger: Logger): Promise<Scope> => {
  const known = remembered.get();
  const name = known === undefined ? makeNew(remembered) : scopeName(known);
  if (process.platform !== "linux") return { name, release: async () => undefined };
  const held = await holdWhenUnused(name, dataDir);
  if (held !== undefined) return { name, release: () => close(held) };
  logger.warn("this data folder is a copy of a folder that another server uses; assigned a new scope to the copy", {
    name,
  });
  const fresh = makeNew(remembered);
  const server = await hold(fresh, dataDir);
  return { name: fresh, release: async () => server && close(server) };
};

export interface SharedScope extends Scope {
  /**
   * Waits until the earlier engine has ended, and then calls `endOthers` once. No other engine can join the scope until
   * `endOthers` has settled. On systems other than Linux, never calls `endOthers`.
   */
  whenAlone(endOthers: () => Promise<void>): void;
}

/**
 * Joins the scope of an engine that is being replaced. Throws if the old engine of an earlier upgrade has not ended
 * yet.
 */
export const joinScope = async (name: string, dataDir: string, logger: Logger): Promise<SharedScope> => {
  if (process.platform !== "linux") return { name, release: async () => undefined, whenAlone: () => undefined };
  let held = await hold(successorOf(name), dataDir);
  if (held === undefined)
    throw new Error("An earlier upgrade is still in progress. Wait until its old process has ended.");
  const released = new AbortController();
  let waiting: Promise<void> | undefined;
  const takeOver = async (endOthers: () => Promise<void>): Promise<void> => {
    const { signal } = released;
    while (!signal.aborted) {
      const own = await hold(name, dataDir);
      if (own !== undefined) {
        await endOthers().catch((cause: unknown) =>
          logger.error("could not remove everything that the earlier engine left behind", { cause }),
        );
        await close(held as Server);
        held = own;
        return;
      }
      await sleep(POLL_MS, undefined, { ref: false, signal }).catch(() => undefined);
    }
  };
  return {
    name,
    whenAlone: (endOthers) => {
      waiting ??= takeOver(endOthers);
    },
    release: async () => {
      released.abort();
      await waiting;
      await close(held as Server);
    },
  };
};
