/**
 * A process that starts a service in a separate network, and then kills itself: after a number of milliseconds, when the
 * service listens, or when the next network is ready.
 */
import { readlinkSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { createBubblewrapRunner } from "../../adapters/local/runner/bubblewrap.ts";
import { namespacesOf } from "../../adapters/local/runner/network/enter.ts";
import { Networks } from "../../adapters/local/runner/network/networks.ts";
import { Watchdog } from "../../adapters/local/runner/watchdog.ts";
import { holdersOf } from "./sandbox-networks.ts";
import { silentLogger } from "./silent-logger.ts";

const [scope, folder, moment, user] = process.argv.slice(2) as [string, string, string, string?];
const networks = new Networks(scope, [], silentLogger);
const runner = createBubblewrapRunner(folder, undefined, new Watchdog(), 2_100_000_000, networks);
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
  const namespaces = holdersOf(scope).map((pid) => readlinkSync(`${namespacesOf(pid)}/net`));
  process.stdout.write(JSON.stringify(namespaces), die);
}
