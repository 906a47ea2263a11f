/** The network of a sandbox ends with its server, whenever the server is killed. */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { constants, readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { chmod, chown, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { allProcesses, environmentOf } from "../../../../adapters/local/instances/proc.ts";
import { killOrphans } from "../../../../adapters/local/sandbox/launch.ts";
import { whyNoNetworks } from "../../../../adapters/local/sandbox/network/networks.ts";
import { MARKER } from "../../../../adapters/local/sandbox/runner.ts";
import type { SeenNetworks } from "../../../support/sandbox/dying-network.ts";
import { needs } from "../../../support/vitest/machine.ts";

const child = new URL("../../../support/sandbox/dying-network.ts", import.meta.url).pathname;
const lacking = await whyNoNetworks("test");

/** A process shows no environment during `execve`, so a single empty poll proves nothing. */
const QUIET_POLLS = 10;

let scope: string;
let folder: string;

beforeEach(async (context) => {
  needs(context, "bubblewrap", "python");
  if (lacking !== undefined) context.skip(lacking);
  scope = `test${randomUUID().slice(0, 8)}`;
  folder = await mkdtemp(join(tmpdir(), "portside-dying-"));
  await chmod(folder, 0o755);
});

afterEach(async () => {
  if (scope === undefined) return;
  await killOrphans(scope);
  await rm(folder, { recursive: true, force: true });
});

const PLAIN = 54_321;
const isRoot = process.getuid?.() === 0;
const servers = isRoot
  ? [
      { server: "root", service: [] },
      { server: "root", service: ["2100000001"] },
      { server: "a plain user", service: [] },
    ]
  : [{ server: "a plain user", service: [] }];

const left = (): number[] =>
  allProcesses()
    .map(({ pid }) => pid)
    .filter((pid) => environmentOf(pid).some((entry) => entry.startsWith(`${MARKER}=${scope}.`)));

/** A server that runs as root creates its own device node. Under another user, pasta needs the machine's. */
const plainUsersMayOpenTunnels = (): boolean => (statSync("/dev/net/tun").mode & constants.S_IROTH) !== 0;

/** The start time of a process in seconds after the machine started. */
const startOf = (pid: string): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The value is in clock ticks (proc(5)); Linux has 100 per second.
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]) / 100;
};

/**
 * The network namespaces of processes that started no later than `uptime`. The kernel reuses the number of an ended
 * namespace, for example for a sandbox of another test.
 */
const namespacesStartedBy = (uptime: number): string[] =>
  readdirSync("/proc").flatMap((name) => {
    try {
      return /^\d+$/.test(name) && startOf(name) <= uptime ? readlinkSync(`/proc/${name}/ns/net`) : [];
    } catch {
      return [];
    }
  });

describe.each(servers)(
  "the network of a service of user $service, with the server as $server",
  ({ server, service }) => {
    // 0 is before anything runs. The other values, in milliseconds, are spread over a start.
    test.for([0, 10, 30, 60, 120, "listening", "spare"])(
      "ends if the server is killed after: %s",
      async (moment, context) => {
        if (server !== "root" && !plainUsersMayOpenTunnels()) context.skip("only root may open /dev/net/tun");
        const user = server === "root" || !isRoot ? {} : { uid: PLAIN, gid: PLAIN };
        if (user.uid !== undefined) await chown(folder, PLAIN, PLAIN);
        const argv = [child, scope, join(folder, "sandbox"), String(moment), ...service];
        const started = spawn(process.execPath, argv, { stdio: ["ignore", "pipe", "inherit"], ...user });
        const [stdout, [, signal]] = await Promise.all([text(started.stdout), once(started, "exit")]);
        expect(signal).toBe("SIGKILL");
        let quiet = 0;
        await expect
          .poll(() => {
            quiet = left().length === 0 ? quiet + 1 : 0;
            return quiet;
          })
          .toBeGreaterThanOrEqual(QUIET_POLLS);
        const { networks, uptime } = stdout === "" ? { networks: [], uptime: 0 } : (JSON.parse(stdout) as SeenNetworks);
        expect(networks.length).toBeGreaterThanOrEqual({ listening: 1, spare: 2 }[moment] ?? 0);
        expect(namespacesStartedBy(uptime).filter((one) => networks.includes(one))).toEqual([]);
      },
    );
  },
);
