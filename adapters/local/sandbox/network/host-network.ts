/** Reads this machine's settings for separate networks: the forbidden addresses and the name servers. */
import { existsSync, readFileSync } from "node:fs";
import { BlockList, isIPv4, isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";
import { tryOr } from "../../../shared/runtime/try-or.ts";

/**
 * Subnets that are always forbidden. The first four contain the metadata services of clouds, which give credentials to
 * virtual machines. The last one is multicast, which reaches programs on this machine.
 */
const ALWAYS = ["169.254.0.0/16", "168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32", "224.0.0.0/4"];

/** Returns the interface of the default route, from /proc/net/route (proc(5)): https://docs.kernel.org/networking/ */
const defaultInterface = (): string | undefined => {
  const rows = readIfPresent("/proc/net/route").split("\n").slice(1);
  return rows.map((row) => row.split("\t")).find(([, to, , , , , , mask]) => to === mask && Number(to) === 0)?.[0];
};

/** True for a bridge to this machine's containers or virtual machines. False for the bridge of the default route. */
const isInnerBridge = (name: string, outer: string | undefined): boolean =>
  name !== outer && existsSync(`/sys/class/net/${name}/bridge`);

/**
 * Returns the forbidden IPv4 subnets: `ALWAYS`, the addresses of this machine, and the subnets of its containers and
 * virtual machines. The separate networks have no IPv6.
 */
export const closedSubnets = (): string[] => {
  const outer = defaultInterface();
  const own = Object.entries(networkInterfaces()).flatMap(([name, all = []]) =>
    all.flatMap(({ family, address, cidr }) => {
      if (family !== "IPv4" || address.startsWith("127.")) return [];
      const isBridge = cidr !== null && isInnerBridge(name, outer);
      return [`${address}/32`, ...(isBridge ? [cidr.replace(address, networkOf(cidr))] : [])];
    }),
  );
  return [...new Set([...ALWAYS, ...own])];
};

/** Returns the first address of a subnet, which identifies the subnet in a route. */
const networkOf = (cidr: string): string => {
  const [address = "", bits = "32"] = cidr.split("/");
  const value = address.split(".").reduce((sum, byte) => sum * 256 + Number(byte), 0);
  const size = 2 ** (32 - Number(bits));
  const first = value - (value % size);
  return [24, 16, 8, 0].map((shift) => Math.floor(first / 2 ** shift) % 256).join(".");
};

/** The settings of this machine that a sandbox's network uses. */
export interface HostNetwork {
  /** IPv4 subnets that the sandbox must not reach. */
  readonly closed: readonly string[];
  readonly resolver: {
    /** The text of resolv.conf. */
    readonly settings: string;
    /**
     * Whether pasta forwards DNS queries. If so, pasta rewrites the sender of every DNS reply, so programs that query
     * another name server directly reject the replies.
     */
    readonly isForwarded: boolean;
  };
}

/**
 * An address that RFC 5737 reserves for documentation. pasta forwards DNS queries for this address to this machine's
 * resolver.
 */
export const RESOLVER = "198.51.100.53";

/** @param subnets subnets in CIDR notation, or single addresses */
export const blockListOf = (subnets: readonly string[]): BlockList => {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [address = "", bits] = subnet.split("/");
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    list.addSubnet(address, Number(bits ?? (family === "ipv6" ? 128 : 32)), family);
  }
  return list;
};

/**
 * Returns the text of resolv.conf for a separate network. Programs query this machine's resolvers directly if all of
 * them are reachable. If one is on the loopback interface, at a forbidden address or at an IPv6 address, pasta forwards
 * the queries. Pure.
 */
export const resolverSettings = (text: string, closed: readonly string[]): string => {
  const list = blockListOf(["127.0.0.0/8", ...closed]);
  const isServer = (line: string) => /^\s*nameserver\s/.test(line);
  const lines = text.split("\n");
  const servers = lines.filter(isServer).map((line) => line.trim().split(/\s+/)[1] ?? "");
  if (servers.length > 0 && servers.every((server) => isIPv4(server) && !list.check(server))) return text;
  return [...lines.filter((line) => !isServer(line)), `nameserver ${RESOLVER}`, ""].join("\n");
};

const readIfPresent = (path: string): string => tryOr(() => readFileSync(path, "utf8"), "");

/** Returns the text of /etc/hosts, with a line break at the end. https://man7.org/linux/man-pages/man5/hosts.5.html */
export const readHosts = (): string => readIfPresent("/etc/hosts").replace(/(?<!\n)$/, "\n");

/** Reads the current state of this machine's network. */
export const readHostNetwork = (): HostNetwork => {
  const closed = closedSubnets();
  // Without a resolv.conf, pasta forwards the queries.
  const settings = resolverSettings(readIfPresent("/etc/resolv.conf"), closed);
  return { closed, resolver: { settings, isForwarded: settings.includes(RESOLVER) } };
};
