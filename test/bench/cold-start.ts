/** The time until a service that is scaled to zero responds. */
import { spawn } from "node:child_process";
import { globSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../adapters/local/instances/free-port.ts";
import type { Bench } from "./bench.ts";
import { instancesOf, listening, startServer, stop } from "./processes.ts";

const bareStart = async (folder: string): Promise<number> => {
  const port = await freePort();
  const begun = performance.now();
  const child = spawn(process.execPath, ["server.js"], {
    cwd: folder,
    env: { PORT: String(port), NODE_ENV: "production" },
    stdio: "ignore",
  });
  await listening(port, child);
  await (await fetch(`http://127.0.0.1:${port}`, { headers: { connection: "close" } })).text();
  const took = performance.now() - begun;
  await stop(child);
  return took;
};

/** The time to a service's first byte, on a new connection. */
export const firstByte = async (url: string): Promise<number> => {
  const begun = performance.now();
  await (await fetch(url, { headers: { connection: "close" }, signal: AbortSignal.timeout(60_000) })).text();
  return performance.now() - begun;
};

const coldStartWith = (
  runner: "process" | "bubblewrap",
  source: string,
  own: Pick<Bench, "name" | "title" | "goals">,
): Bench => ({
  ...own,
  unit: "ms",
  prepare: async () => {
    const server = await startServer("--runner", runner, "--idle", "stop", "--idle-seconds", "0.2");
    await server.cli("deploy", source);
    // The installed dependencies are only in the image.
    const [folder = source] = globSync(join(server.dataDir, "images", "*", "*", "app"));
    const [{ url }] = JSON.parse(await server.cli("list", "--json")) as [{ url: string }];
    const measure = async () => {
      while (instancesOf(server).length > 0) await sleep(20);
      return firstByte(url);
    };
    return {
      subject: { name: "through the ingress", measure },
      peers: [{ name: "node server.js", measure: () => bareStart(folder) }],
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  },
});

export const coldStart = coldStartWith("process", "examples/hello", {
  name: "cold-start",
  title: "time to the first byte of a service scaled to zero (process runner), compared with a bare process",
  goals: [{ peer: "node server.js", at: "most", bound: 1.5 }],
});

export const coldStartBubblewrap = coldStartWith("bubblewrap", "examples/hello", {
  name: "cold-start-bubblewrap",
  title: "time to the first byte of a service scaled to zero (bubblewrap), compared with a bare process",
  goals: [{ peer: "node server.js", at: "most", bound: 1.5, plus: 20 }],
});

const EXPRESS = "test/fixtures/express-ten-packages";

export const coldStartExpress = coldStartWith("process", EXPRESS, {
  name: "cold-start-express",
  title:
    "time to the first byte of an Express service with ten packages (process runner), compared with a bare process without a compile cache",
  goals: [{ peer: "node server.js", at: "most", bound: 1.2 }],
});

export const coldStartExpressBubblewrap = coldStartWith("bubblewrap", EXPRESS, {
  name: "cold-start-express-bubblewrap",
  title:
    "time to the first byte of an Express service with ten packages (bubblewrap), compared with a bare process without a compile cache",
  goals: [{ peer: "node server.js", at: "most", bound: 1.2 }],
});
