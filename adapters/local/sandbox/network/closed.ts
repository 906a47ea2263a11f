/** Addresses that a service in a separate network must not reach, and the name server that it asks instead of them. */
import { existsSync, readFileSync } from "node:fs";
import { BlockList, isIPv4 } from "node:net";
import { networkInterfaces } from "node:os";

/** Where clouds answer virtual machines with credentials; multicast reaches programs of this machine. */
const ALWAYS = ["169.254.0.0/16", "168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32", "224.0.0.0/4"];

/** The interface with the default route: https://docs.kernel.org/networking/ and proc(5), /proc/net/route. */
const defaultInterface = (): string | undefined => {
  try {
    const rows = readFileSync("/proc/net/route", "utf8").split("\n").slice(1);
    return rows.map((row) => row.split("\t")).find(([, to, , , , , , mask]) => to === mask && Number(to) === 0)?.[0];
  } catch {
    return undefined;
  }
};

/** Containers and virtual machines of this machine are behind its bridges, except the bridge with the default route. */
const isInnerBridge = (name: string, outer: string | undefined): boolean =>
  name !== outer && existsSync(`/sys/class/net/${name}/bridge`);

/** IPv4 subnets: every address of this machine, and its containers. The network has no IPv6. */
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

/** The first address of a subnet, which is how a route names it. */
const networkOf = (cidr: string): string => {
  const [address = "", bits = "32"] = cidr.split("/");
  const value = address.split(".").reduce((sum, byte) => sum * 256 + Number(byte), 0);
  const size = 2 ** (32 - Number(bits));
  const first = value - (value % size);
  return [24, 16, 8, 0].map((shift) => Math.floor(first / 2 ** shift) % 256).join(".");
};

/** What a network for a sandbox takes over from this machine. */
export interface HostNetwork {
  /** IPv4 subnets that the sandbox must not reach. */
  readonly closed: readonly string[];
  readonly resolver: {
    /** The text of resolv.conf. */
    readonly settings: string;
    /**
     * Whether names are asked through pasta. Then pasta changes the sender of the resolver's answers, so programs that ask
     * the resolver directly do not accept them.
     */
    readonly isForwarded: boolean;
  };
}

/** An address of documentation (RFC 5737) at which pasta answers with this machine's resolver. */
export const RESOLVER = "198.51.100.53";

/**
 * The text of resolv.conf for such a network. A resolver on the loopback, of this machine or of its cloud is asked through
 * pasta, the others directly. Pure.
 */
export const resolverSettings = (text: string, closed: readonly string[]): string => {
  const list = new BlockList();
  for (const subnet of ["127.0.0.0/8", ...closed]) {
    const [address = "", bits] = subnet.split("/");
    list.addSubnet(address, Number(bits));
  }
  const isServer = (line: string) => /^\s*nameserver\s/.test(line);
  const lines = text.split("\n");
  const servers = lines.filter(isServer).map((line) => line.trim().split(/\s+/)[1] ?? "");
  if (servers.length > 0 && servers.every((server) => isIPv4(server) && !list.check(server))) return text;
  return [...lines.filter((line) => !isServer(line)), `nameserver ${RESOLVER}`, ""].join("\n");
};

const readIfThere = (path: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
};

/** The names that this machine has of its own, whole lines. https://man7.org/linux/man-pages/man5/hosts.5.html */
export const readHosts = (): string => readIfThere("/etc/hosts").replace(/(?<!\n)$/, "\n");

/** Reads the current state of this machine's network. */
export const readHostNetwork = (): HostNetwork => {
  const closed = closedSubnets();
  // Without settings, names are asked through pasta.
  const settings = resolverSettings(readIfThere("/etc/resolv.conf"), closed);
  return { closed, resolver: { settings, isForwarded: settings.includes(RESOLVER) } };
};
