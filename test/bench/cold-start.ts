/** A request to a service that is scaled to zero: the price of not running. */
import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import type { Bench } from "./bench.ts";
import { instancesOf, listening, startServer, stop } from "./processes.ts";

const PORT = 48_571;

const bare = async (): Promise<number> => {
  const begun = performance.now();
  const child = spawn(process.execPath, ["server.js"], {
    cwd: "examples/hello",
    env: { PORT: String(PORT) },
    stdio: "ignore",
  });
  await listening(PORT);
  await (await fetch(`http://127.0.0.1:${PORT}`, { headers: { connection: "close" } })).text();
  const took = performance.now() - begun;
  await stop(child);
  return took;
};

export const coldStart: Bench = {
  name: "cold-start",
  question: "first byte of a service at zero, process runner, against a bare start to its first byte",
  unit: "ms",
  goals: [{ peer: "node server.js", at: "most", bound: 1.5 }],
  prepare: async () => {
    const server = await startServer("--runner", "process", "--idle-seconds", "0.2");
    await server.cli("deploy", "examples/hello");
    const [{ url }] = JSON.parse(await server.cli("list", "--json")) as [{ url: string }];
    const measure = async () => {
      while (instancesOf(server).length > 0) await sleep(20);
      const begun = performance.now();
      await (await fetch(url, { headers: { connection: "close" } })).text();
      return performance.now() - begun;
    };
    return {
      subject: { name: "through the ingress", measure },
      peers: [{ name: "node server.js", measure: bare }],
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  },
};
