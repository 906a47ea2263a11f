/** From `portside deploy` or `portside rollback` to DONE: the time that a developer waits. */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../adapters/local/instances/free-port.ts";
import type { Bench } from "./bench.ts";
import { listening, startServer, stop } from "./processes.ts";

/** Without a platform: unpack a copy of the source, start it, wait until it listens. */
const byHand = async (): Promise<number> => {
  const begun = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "portside-bench-hand-"));
  spawnSync("sh", ["-c", `tar -C examples/hello -cz . | tar -C ${folder} -xz`]);
  const port = await freePort();
  const child = spawn(process.execPath, ["server.js"], { cwd: folder, env: { PORT: String(port) }, stdio: "ignore" });
  await listening(port, child);
  const took = performance.now() - begun;
  await stop(child);
  rmSync(folder, { recursive: true });
  return took;
};

export const deploy: Bench = {
  name: "deploy",
  title: "deploy of examples/hello until DONE, with a warm cache and the process runner",
  unit: "ms",
  goals: [{ at: "most", bound: 1000 }],
  prepare: async () => {
    const server = await startServer("--runner", "process");
    const measure = async () => {
      const begun = performance.now();
      await server.cli("deploy", "examples/hello");
      return performance.now() - begun;
    };
    return {
      subject: { name: "portside deploy", measure },
      peers: [{ name: "tar and node server.js", measure: byHand }],
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  },
};

export const rollback: Bench = {
  name: "rollback",
  title: "rollback of examples/hello until DONE, with the process runner",
  unit: "ms",
  goals: [{ at: "most", bound: 1000 }],
  prepare: async () => {
    const server = await startServer("--runner", "process");
    const timed = async (...args: string[]) => {
      const begun = performance.now();
      await server.cli(...args);
      return performance.now() - begun;
    };
    for (const greeting of ["one", "two"])
      await server.cli("deploy", "examples/hello", "--env", `GREETING=${greeting}`);
    return {
      subject: { name: "portside rollback", measure: () => timed("rollback", "hello", "1") },
      peers: [{ name: "portside deploy", measure: () => timed("deploy", "examples/hello") }],
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  },
};
