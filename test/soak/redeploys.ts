/**
 * `npm run soak -- redeploys`: one deployment is replaced again and again under constant load. Fails if a request or a
 * deploy fails, or if the server's resident memory varies by more than 3 % over the last half of the run.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { helloServer, nodeSource } from "../support/archives/archives.ts";
import { processMemory } from "../support/crashes/memory-use.ts";
import { Client, serve } from "../support/http/served.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "120" },
    /** Seconds between the starts of two deploys. */
    every: { type: "string", default: "20" },
    /** Requests a second. */
    rate: { type: "string", default: "100" },
    runner: { type: "string", default: "auto" },
  },
});

const MiB = 2 ** 20;
const WINDOWS = 6;
const MAX_SPREAD = 0.03;

const dataDir = await mkdtemp(join(tmpdir(), "portside-soak-"));
// V8 resizes its young generation with the load, by tens of megabytes. With a fixed size, only retained memory changes.
const served = await serve(dataDir, { runner: values.runner }, undefined, ["--max-semi-space-size=16"]);
const client = new Client(served.url, served.apiKey as string);
let failures = 0;
const failed = (what: string): void => {
  failures++;
  if (failures <= 100) console.log(`${new Date().toISOString()} ${what}`);
};
const memory: number[] = [];
let requests = 0;
let deploys = 0;

const deploy = async (): Promise<string | undefined> => {
  let url: string | undefined;
  for await (const record of client.deploy("app", nodeSource(helloServer(`v${deploys}`)))) {
    if (record.status === "ERROR") failed(`deploy ${deploys}: ${record.message}`);
    url = record.url ?? url;
  }
  deploys++;
  return url;
};

// Uses the connections in turn, so that none is idle for so long that the server closes it.
const agent = new Agent({ keepAlive: true, maxSockets: 20, scheduling: "fifo" });

const request = (url: string): Promise<void> =>
  new Promise((resolve) => {
    const fail = (error: Error) => {
      failed(`request ${number}: ${error.message}`);
      resolve();
    };
    const number = ++requests;
    const sent = get(url, { agent, timeout: 30_000 }, (response) => {
      text(response).then((body) => {
        if (response.statusCode !== 200 || !/^v\d+$/.test(body))
          failed(`request ${number}: ${response.statusCode} ${body.slice(0, 200)}`);
        resolve();
      }, fail);
    });
    sent.on("timeout", () => sent.destroy(new Error("no response in 30 s")));
    sent.on("error", fail);
  });

const median = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] as number;

try {
  const url = (await deploy()) as string;
  const end = Date.now() + Number(values.minutes) * 60_000;
  const open = new Set<Promise<void>>();
  const load = setInterval(() => {
    const one = request(url).finally(() => open.delete(one));
    open.add(one);
  }, 1000 / Number(values.rate));
  const sampling = setInterval(() => memory.push(processMemory(served.child.pid as number).now), 1000);
  let reported = 0;
  while (Date.now() < end) {
    const next = Date.now() + Number(values.every) * 1000;
    await deploy();
    if (memory.length - reported >= 60) {
      const recent = median(memory.slice(reported));
      console.log(`${deploys} deploys, ${requests} requests, ${failures} failed, ${(recent / MiB).toFixed(1)} MiB`);
      reported = memory.length;
    }
    await sleep(Math.max(0, Math.min(next, end) - Date.now()));
  }
  clearInterval(load);
  clearInterval(sampling);
  await Promise.all(open);

  const last = memory.slice(memory.length / 2);
  const size = Math.ceil(last.length / WINDOWS);
  const windows = Array.from({ length: WINDOWS }, (_, index) => median(last.slice(index * size, (index + 1) * size)));
  const spread = Math.max(...windows) / Math.min(...windows) - 1;
  console.log(`resident memory over the last half: ${windows.map((bytes) => (bytes / MiB).toFixed(1)).join(", ")} MiB`);
  console.log(`${deploys} deploys, ${requests} requests, ${failures} failed, spread ${(100 * spread).toFixed(1)} %`);
  if (failures > 0 || !(spread <= MAX_SPREAD)) process.exitCode = 1;
} finally {
  agent.destroy();
  served.child.kill("SIGTERM");
  await new Promise((resolve) => served.child.once("exit", resolve));
  await rm(dataDir, { recursive: true, force: true });
}
