/**
 * A request to a frozen service. faasd publishes 190 ms for a request to a paused container:
 * https://github.com/openfaas/faasd/blob/8bd2ba5334eb2bf8930c3e4c840ff124fbccafd2/README.md
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { removeImagesOf } from "../support/providers/at-docker.ts";
import { has } from "../support/vitest/machine.ts";
import { type Bench, skipped } from "./bench.ts";
import { firstByte } from "./cold-start.ts";
import { startServer } from "./processes.ts";

const IDLE_SECONDS = 0.3;
/** The service is frozen after this time, also in a container. */
const FROZEN_MS = 1000;

/** Responds to `/pause` with the longest time between two of its ticks since the last such request. */
const server = `
let [last, longest] = [Date.now(), 0];
setInterval(() => {
  longest = Math.max(longest, Date.now() - last);
  last = Date.now();
}, 5);
require("node:http").createServer((q, r) => {
  r.end(String(Math.max(longest, Date.now() - last)));
  if (q.url === "/pause") longest = 0;
}).listen(process.env.PORT);
`;

const wakeWith = (runner: "process" | "bubblewrap" | "container"): Bench => ({
  name: `wake-${runner}`,
  title: `time to the first byte of a frozen service (${runner}), compared with a running one`,
  unit: "ms",
  goals: [{ peer: "running", at: "most", bound: 1, plus: 5 }],
  prepare: async () => {
    if (runner !== "process" && !has(runner === "container" ? "containers" : runner))
      return skipped(`${runner} is not available`);
    const folder = mkdtempSync(join(tmpdir(), "portside-bench-wake-"));
    const name = `wake-${process.pid}`;
    writeFileSync(join(folder, "package.json"), JSON.stringify({ scripts: { start: "node server.js" } }));
    writeFileSync(join(folder, "server.js"), server);
    writeFileSync(join(folder, "portside.json"), JSON.stringify({ name, volumes: {} }));
    const platform = await startServer("--runner", runner, "--idle-seconds", String(IDLE_SECONDS));
    await platform.cli("deploy", folder);
    const [{ url }] = JSON.parse(await platform.cli("list", "--json")) as [{ url: string }];
    const frozen = async () => {
      await fetch(`${url}/pause`);
      await sleep(FROZEN_MS);
      const took = await firstByte(url);
      const pause = Number(await (await fetch(`${url}/pause`)).text());
      if (pause < FROZEN_MS / 3) throw new Error(`The service was not frozen: its longest pause was ${pause} ms.`);
      return took;
    };
    const running = async () => {
      await fetch(url);
      return firstByte(url);
    };
    return {
      subject: { name: "frozen", measure: frozen },
      peers: [{ name: "running", measure: running }],
      [Symbol.asyncDispose]: async () => {
        await platform[Symbol.asyncDispose]();
        if (runner === "container") await removeImagesOf(name);
        rmSync(folder, { recursive: true, force: true });
      },
    };
  },
});

export const wakes: readonly Bench[] = [wakeWith("process"), wakeWith("bubblewrap"), wakeWith("container")];
