/** Starts a sandboxed command and kills itself after a number of milliseconds, or when the command runs. */
import { createBubblewrapRunner } from "../../../adapters/local/sandbox/bubblewrap.ts";
import { findControlGroups } from "../../../adapters/local/sandbox/cgroup.ts";
import { Watchdog } from "../../../adapters/local/sandbox/watchdog.ts";

const [scope, folder, limits, millis, user] = process.argv.slice(2) as [string, string, string, string, string?];
const groups = limits === "cgroup" ? findControlGroups(`portside-${scope}`) : undefined;
const runner = createBubblewrapRunner(folder, groups, new Watchdog(), 2_100_000_000);
if (typeof runner === "string") throw new Error(runner);
const die = () => process.kill(process.pid, "SIGKILL");

runner.start(
  {
    id: `${scope}.1`,
    argv: ["sh", "-c", "echo runs; exec sleep 300"],
    cwd: "/tmp",
    env: { PATH: "/usr/bin:/bin" },
    binds: [],
    ...(user === undefined ? {} : { user: Number(user) }),
    limits: { memory: 64 * 1024 ** 2, cpu: 1, processes: 20 },
  },
  () => {
    if (millis === "running") die();
    return undefined;
  },
);
if (millis === "0") die();
else if (millis !== "running") setTimeout(die, Number(millis));
