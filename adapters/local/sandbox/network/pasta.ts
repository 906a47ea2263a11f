/**
 * A network namespace that reaches the world through pasta, and nothing of this machine but named loopback ports. pasta
 * translates between the namespace and sockets of its own, so it needs no rights on the machine. https://passt.top/
 */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../instances/free-port.ts";
import { type Address, loopback } from "../../instances/ready.ts";
import { MARKER } from "../runner.ts";
import { type HostNetwork, RESOLVER } from "./closed.ts";
import { enterNetwork, isRoot, namespacesOf } from "./enter.ts";

export interface NetworkOptions {
  /** Marks its processes. */
  readonly id: string;
  /** The port that the service listens on; undefined for a network in which nothing is called. */
  readonly inside: number | undefined;
  /** Ports of this machine's loopback that lead there from the network's own loopback. */
  readonly opened: readonly number[];
  readonly host: HostNetwork;
}

export interface Network {
  readonly inside: number | undefined;
  readonly opened: readonly number[];
  /** Its first process, which does nothing. */
  readonly pid: number;
  /** Where this machine reaches `inside`. Something accepts connections there whether or not the service listens. */
  readonly address: Address | undefined;
  /** Resolves when it is gone, for whatever reason. */
  readonly ended: Promise<void>;
  /** Closes those of the subnets that are not closed yet; resolves with false where that fails. */
  forbid(subnets: readonly string[]): Promise<boolean>;
  close(): Promise<void>;
}

const NOBODY = "65534";
const PROGRAMS = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };
const START_MS = 20_000;
const END_MS = 2000;
const MAX_TRIES = 3;

/**
 * pasta refuses to be root, and where only root may open the tunnel device it needs one of its own. The mount is in a
 * namespace that ends with pasta.
 */
const asNobody = (argv: readonly string[]): readonly string[] => {
  const device = "mount -t tmpfs none /dev/net && mknod -m 666 /dev/net/tun c 10 200";
  const user = `exec setpriv --reuid ${NOBODY} --regid ${NOBODY} --clear-groups "$@"`;
  return isRoot ? ["unshare", "--mount", "sh", "-c", `${device} && ${user}`, "sh", ...argv] : argv;
};

/** The namespace's interface besides the loopback. */
const TAP = "eth0";

/**
 * Closes the subnets, lets services listen on low ports as containers do, and holds the namespace until the server closes
 * its end of the pipe or dies. Senders choose their interface for multicast, past every route; the policy stops it on
 * kernels that have policies.
 */
const HOLD = `printf '%s\\n' "$@" | ip -batch - || exit 1
ip xfrm policy add src 0.0.0.0/0 dst 224.0.0.0/4 dir out action block 2>/dev/null
echo 0 >/proc/sys/net/ipv4/ip_unprivileged_port_start
echo ready; exec cat`;

/**
 * Makes the subnet's addresses the namespace's own, so that nothing listens there but the service itself. A route of the kind
 * `prohibit` does not close it: for a socket that is bound to an interface (SO_BINDTODEVICE, IP_PKTINFO) the kernel takes
 * the address of a route that fails for one on the link. A local route of that interface does not fail.
 */
const closeSubnet = (subnet: string): string => `route replace local ${subnet} dev ${TAP}`;

const pastaArguments = ({ inside, opened, host }: NetworkOptions, port: number): string[] => [
  "pasta",
  "--foreground",
  "--quiet",
  "--ipv4-only",
  "--config-net",
  "--ns-ifname",
  TAP,
  // Without it, the gateway's address leads to this machine's loopback.
  "--no-map-gw",
  ...(host.resolver.isForwarded ? ["--dns-forward", RESOLVER] : []),
  "--tcp-ports",
  inside === undefined ? "none" : `127.0.0.1/${port}:${inside}`,
  "--udp-ports",
  "none",
  "--tcp-ns",
  opened.length === 0 ? "none" : opened.join(","),
  "--udp-ns",
  "none",
  "--",
];

const firstChildOf = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ")[0]);

const killGroup = ({ pid }: ChildProcess): void => {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // Nothing of it is left.
  }
};

const forbidIn = (pid: number, subnets: readonly string[]): Promise<boolean> => {
  const [file = "", ...args] = [...enterNetwork(namespacesOf(pid)), "--", "ip", "-batch", "-"];
  const child = spawn(file, args, { env: PROGRAMS, stdio: ["pipe", "ignore", "ignore"] });
  child.stdin.on("error", () => undefined);
  child.stdin.end(subnets.map((subnet) => `${closeSubnet(subnet)}\n`).join(""));
  return new Promise((resolve) => {
    child.once("error", () => resolve(false));
    child.once("close", (code) => resolve(code === 0));
  });
};

const tryOpen = async (options: NetworkOptions): Promise<Network> => {
  const port = options.inside === undefined ? 0 : await freePort();
  const closed = new Set(options.host.closed);
  const argv = asNobody([...pastaArguments(options, port), "sh", "-c", HOLD, "sh", ...[...closed].map(closeSubnet)]);
  const [file = "", ...args] = argv;
  const env = { ...PROGRAMS, [MARKER]: options.id };
  const child = spawn(file, args, { env, cwd: "/", stdio: ["pipe", "pipe", "pipe"], detached: true });
  const [stdin, stdout, stderr] = [child.stdin as Writable, child.stdout as Readable, child.stderr as Readable];
  stdin.on("error", () => undefined);
  let words = "";
  stderr.setEncoding("utf8").on("data", (text: string) => {
    words = `${words}${text}`.slice(-2000);
  });
  const ended = new Promise<void>((resolve) => {
    child.once("error", (error) => {
      words = error.message;
      resolve();
    });
    child.once("exit", () => {
      // A pasta that fails may leave the process that waits for it.
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
    throw new Error(`pasta does not work here: ${lastLine(words)}`);
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

/** pasta also tells on standard error that there is no syslog. */
const lastLine = (text: string): string =>
  text
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("Failed to send"))
    .at(-1) ?? "it did not start";

/** Another program may take the port that was free. Throws in words where none can be made. */
export const openNetwork = async (options: NetworkOptions): Promise<Network> => {
  for (let tries = 1; ; tries++) {
    try {
      return await tryOpen(options);
    } catch (error) {
      if (tries === MAX_TRIES || options.inside === undefined) throw error;
    }
  }
};
