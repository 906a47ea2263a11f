/** The memory of an idle platform, and of each service that is scaled to zero. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Bench, Setup } from "./bench.ts";
import { instancesOf, megabytesOf, startServer } from "./processes.ts";

const SETTLE_MS = 3000;

const idleServer = async (settle: number): Promise<number> => {
  await using server = await startServer();
  await sleep(settle);
  return megabytesOf(server);
};

const none = async (): Promise<void> => undefined;

export const idleServe: Bench = {
  name: "idle-serve",
  title: "memory of the two processes of an idle `portside serve`",
  unit: "MB",
  goals: [{ at: "most", bound: 200 }],
  prepare: async ({ small }): Promise<Setup> => ({
    subject: { name: "portside serve", measure: () => idleServer(small ? 100 : SETTLE_MS) },
    peers: [],
    [Symbol.asyncDispose]: none,
  }),
};

const SERVICES = 40;

/** The megabytes that each of `count` services adds to a server after it was deployed and scaled to zero. */
const perService = async (count: number, settle: number): Promise<number> => {
  await using server = await startServer("--runner", "process", "--idle", "stop", "--idle-seconds", "0.2");
  const deployMany = async (from: number, to: number) => {
    for (let index = from; index < to; index++)
      await server.cli("deploy", "examples/hello", "--name", `hello-${index}`);
    while (instancesOf(server).length > 0) await sleep(50);
    await sleep(settle);
    return megabytesOf(server);
  };
  // The first deploys load and compile code, which is memory of the server and not of a service.
  const before = await deployMany(0, 10);
  return ((await deployMany(10, 10 + count)) - before) / count;
};

export const idleService: Bench = {
  name: "idle-service",
  title: `memory that each of ${SERVICES} services at zero adds to the two processes`,
  unit: "MB",
  goals: [{ at: "most", bound: 1 }],
  prepare: async ({ small }): Promise<Setup> => ({
    subject: { name: "a service at zero", measure: () => perService(small ? 2 : SERVICES, small ? 100 : SETTLE_MS) },
    peers: [],
    [Symbol.asyncDispose]: none,
  }),
};
