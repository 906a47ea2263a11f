/**
 * Creates a network namespace that reaches other machines through pasta, and on this machine only the given loopback
 * ports. pasta translates between the namespace and its own sockets, so it needs no rights on the machine.
 * https://passt.top/
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../instances/free-port.ts";
import { type Address, loopback } from "../../instances/listen-state.ts";
import { MARKER } from "../runner.ts";
import { enterNetwork, isRoot, namespacesOf } from "./enter-network.ts";
import { type HostNetwork, RESOLVER } from "./host-network.ts";

export interface NetworkOptions {
  /** Marks the network's processes. */
  readonly id: string;
  /** The port on which the service listens; undefined if nothing in the network listens. */
  readonly inside: number | undefined;
  /** Ports of the network's loopback address that pasta forwards to this machine's loopback address. */
  readonly opened: readonly number[];
  readonly host: HostNetwork;
}

export interface Network {
  readonly inside: number | undefined;
  readonly opened: readonly number[];
  /** The first process of the namespace. It only keeps the namespace open. */
  readonly pid: number;
  /**
   * pasta forwards connections at this address to the port `inside`, and accepts them even if the service does not
   * listen.
   */
  readonly address: Address | undefined;
  /** Resolves when the network has ended, for any reason. */
  readonly ended: Promise<void>;
  /** Forbids the subnets that the network can still reach. Resolves with false if that fails. */
  forbid(subnets: readonly string[]): Promise<boolean>;
  close(): Promise<void>;
}

const NOBODY = "65534";
const PROGRAMS = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };
const START_MS = 20_000;
const END_MS = 2000;
const MAX_TRIES = 3;

/**
 * If this process is root, runs pasta as the user `nobody`, because pasta does not run as root. On some machines, only
 * root may open the tunnel device, so pasta gets a separate device node. The node is in a mount namespace that ends
 * with pasta.
 */
const asNobody = (argv: readonly string[]): readonly string[] => {
  const device = "mount -t tmpfs none /dev/net && mknod -m 666 /dev/net/tun c 10 200";
  const user = `exec setpriv --reuid ${NOBODY} --regid ${NOBODY} --clear-groups "$@"`;
  return isRoot ? ["unshare", "--mount", "sh", "-c", `${device} && ${user}`, "sh", ...argv] : argv;
};

/** The namespace's interface to other machines. */
const TAP = "eth0";

/**
 * Forbids the subnets, lets services listen on ports below 1024 as in containers, and keeps the namespace open until
 * the server closes its end of the pipe or dies. A program that sends multicast can choose the interface, which
 * bypasses all routes. On kernels with XFRM support, a policy therefore blocks multicast.
 */
const HOLD = `printf '%s\\n' "$@" | ip -batch - || exit 1
ip xfrm policy add src 0.0.0.0/0 dst 224.0.0.0/4 dir out action block 2>/dev/null
echo 0 >/proc/sys/net/ipv4/ip_unprivileged_port_start
echo ready; exec cat`;

/**
 * Makes the subnet's addresses local to the namespace, so that only the service itself can listen on them. A `prohibit`
 * route is not enough: for a socket that is bound to an interface (SO_BINDTODEVICE, IP_PKTINFO), the kernel treats an
 * address without a usable route as on-link. A local route of that interface is usable.
 */
const closeSubnet = (subnet: string): string => `route replace local ${subnet} dev ${TAP}`;

const pastaArguments = ({ inside, opened, host }: NetworkOptions, port: number): string[] => [
  ...["pasta", "--foreground", "--quiet", "--ipv4-only", "--config-net", "--ns-ifname", TAP],
  // Without this option, connections to the gateway's address would reach this machine's loopback address.
  "--no-map-gw",
  ...(host.resolver.isForwarded ? ["--dns-forward", RESOLVER] : []),
  ...["--tcp-ports", inside === undefined ? "none" : `127.0.0.1/${port}:${inside}`],
  ...["--tcp-ns", opened.length === 0 ? "none" : opened.join(",")],
  ...["--udp-ports", "none", "--udp-ns", "none", "--"],
];

const firstChildOf = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ")[0]);

const killGroup = ({ pid }: ChildProcess): void => {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // The group has ended.
  }
};

const forbidIn = async (pid: number, subnets: readonly string[]): Promise<boolean> => {
  const [file = "", ...args] = [...enterNetwork(namespacesOf(pid)), "--", "ip", "-batch", "-"];
  const child = spawn(file, args, { env: PROGRAMS, stdio: ["pipe", "ignore", "ignore"] });
  child.stdin.on("error", () => undefined);
  child.stdin.end(subnets.map((subnet) => `${closeSubnet(subnet)}\n`).join(""));
  const [code] = await once(child, "close").catch(() => []);
  return code === 0;
};

const tryOpen = async (options: NetworkOptions): Promise<Network> => {
  const port = options.inside === undefined ? 0 : await freePort();
  const closed = new Set(options.host.closed);
  const argv = asNobody([...pastaArguments(options, port), "sh", "-c", HOLD, "sh", ...[...closed].map(closeSubnet)]);
  const [file = "", ...args] = argv;
  const env = { ...PROGRAMS, [MARKER]: options.id };
  const child = spawn(file, args, { env, cwd: "/", stdio: ["pipe", "pipe", "pipe"], detached: true });
  const { stdin, stdout, stderr } = child;
  stdin.on("error", () => undefined);
  let output = "";
  stderr.setEncoding("utf8").on("data", (text: string) => {
    output = `${output}${text}`.slice(-2000);
  });
  const ended = new Promise<void>((resolve) => {
    child.once("error", (error) => {
      output = error.message;
      resolve();
    });
    child.once("exit", () => {
      // If pasta fails, its child process may still run.
      killGroup(child);
      resolve();
    });
  });
  const close = async () => {
    stdin.end();
    const timer = setTimeout(() => killGroup(child), END_MS);
    await ended;
    clearTimeout(timer);
  };
  const isReady = new Promise<boolean>((resolve) => stdout.once("data", () => resolve(true)));
  const late = sleep(START_MS, false, { ref: false });
  if (!(await Promise.race([isReady, ended.then(() => false), late]))) {
    killGroup(child);
    throw new Error(`pasta does not work here: ${lastLine(output)}`);
  }
  const pid = firstChildOf(child.pid as number);
  const address = options.inside === undefined ? undefined : loopback(port);
  const forbid = async (subnets: readonly string[]) => {
    const open = subnets.filter((subnet) => !closed.has(subnet));
    if (open.length === 0) return true;
    if (!(await forbidIn(pid, open))) return false;
    for (const subnet of open) closed.add(subnet);
    return true;
  };
  const { inside, opened } = options;
  return { inside, opened, pid, address, ended, forbid, close };
};

/** Returns the last line of pasta's output. Skips its message about a missing syslog ("Failed to send"). */
const lastLine = (text: string): string =>
  text
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("Failed to send"))
    .at(-1) ?? "it did not start";

/**
 * Opens a network. Retries if the service needs a port, because another program may take the free port. If pasta does
 * not work, rejects with an error that contains the reason.
 */
export const openNetwork = async (options: NetworkOptions): Promise<Network> => {
  for (let tries = 1; ; tries++) {
    try {
      return await tryOpen(options);
    } catch (error) {
      if (tries === MAX_TRIES || options.inside === undefined) throw error;
    }
  }
};
