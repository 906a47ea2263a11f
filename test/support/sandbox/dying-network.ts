/**
 * Starts a service in a separate network and then kills itself: after a number of milliseconds, when the service
 * listens, or when the next network is ready.
 */
import { readFileSync, readlinkSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { createBubblewrapRunner } from "../../../adapters/local/sandbox/bubblewrap.ts";
import { namespacesOf } from "../../../adapters/local/sandbox/network/enter-network.ts";
import { Networks } from "../../../adapters/local/sandbox/network/networks.ts";
import { Watchdog } from "../../../adapters/local/sandbox/watchdog.ts";
import { silentLogger } from "../logs/silent-logger.ts";
import { holdersOf } from "./sandbox-networks.ts";

/** The last output of the process. */
export interface SeenNetworks {
  /** The namespaces of its networks. */
  readonly networks: readonly string[];
  /** When it read them, in seconds after the machine started. */
  readonly uptime: number;
}

const [scope, folder, moment, user] = process.argv.slice(2) as [string, string, string, string?];
const pool = new Networks(scope, [], silentLogger);
const runner = createBubblewrapRunner(folder, undefined, new Watchdog(), 2_100_000_000, pool);
if (typeof runner === "string") throw new Error(runner);

const SERVER = "import socket, time; s = socket.create_server(('', 8080)); time.sleep(300)";
const running = runner.start(
  {
    id: `${scope}.1`,
    argv: ["python3", "-c", SERVER],
    cwd: "/tmp",
    env: { PATH: "/usr/bin:/bin" },
    binds: [],
    port: 8080,
    ...(user === undefined ? {} : { user: Number(user) }),
    limits: { memory: 64 * 1024 ** 2, cpu: 1, processes: 20 },
  },
  () => undefined,
);
const die = () => process.kill(process.pid, "SIGKILL");

if (moment === "0") die();
else if (/^\d+$/.test(moment)) setTimeout(die, Number(moment));
else {
  const wanted = moment === "spare" ? 2 : 1;
  while (!(await running.accepts?.()) || holdersOf(scope).length < wanted) await sleep(10);
  const networks = holdersOf(scope).map((pid) => readlinkSync(`${namespacesOf(pid)}/net`));
  const uptime = Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]);
  process.stdout.write(JSON.stringify({ networks, uptime } satisfies SeenNetworks), die);
}
