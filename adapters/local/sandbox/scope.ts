/** The scope marks a server's processes, control groups and containers. The server's next start finds and ends them. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import type { Logger } from "../../../core/ports/system.ts";

export interface Scope {
  readonly name: string;
  release(): Promise<void>;
}

interface Remembered {
  get(): string | undefined;
  set(value: string): void;
}

/**
 * Holds the name until the process ends, or returns undefined if another process holds it. Linux only: listens on an
 * abstract Unix socket, which the kernel closes even if the process is killed.
 */
const hold = async (name: string): Promise<Server | undefined> => {
  const server = createServer((socket) => socket.destroy());
  server.unref();
  try {
    server.listen(`\0portside-scope-${name}`);
    await once(server, "listening");
    return server;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") return undefined;
    throw error;
  }
};

const close = (server: Server): Promise<void> => new Promise((resolve) => server.close(() => resolve()));

/** Returns the name of the scope for a stored value. */
export const scopeName = (value: string): string => value.slice(0, 16);

const makeNew = (remembered: Remembered): string => {
  const value = randomUUID().replaceAll("-", "");
  remembered.set(value);
  return scopeName(value);
};

/**
 * Takes the scope of the data folder. A copied data folder has the scope of the original. While the server of the
 * original runs, the copy gets a new scope. Otherwise the copy's server would end the instances of the original.
 */
export const takeScope = async (remembered: Remembered, logger: Logger): Promise<Scope> => {
  const known = remembered.get();
  const name = known === undefined ? makeNew(remembered) : scopeName(known);
  if (process.platform !== "linux") return { name, release: async () => undefined };
  const held = await hold(name);
  if (held !== undefined) return { name, release: () => close(held) };
  logger.warn("this data folder is a copy of a folder that another server uses; assigned a new scope to the copy", {
    name,
  });
  const fresh = makeNew(remembered);
  const server = await hold(fresh);
  return { name: fresh, release: async () => server && close(server) };
};
