/**
 * Rejects base images from registries that only this machine can reach. Otherwise a Dockerfile could make the container
 * engine call internal services.
 */
import { type BlockList, isIP, isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";
import { blockListOf, closedSubnets } from "../../sandbox/network/host-network.ts";

export interface Registry {
  readonly host: string;
  readonly ports: readonly number[];
}

/**
 * The ports that the container engine tries if the registry's name has no port: HTTPS, and HTTP on loopback addresses.
 */
const DEFAULT_PORTS = [443, 80];

/**
 * Returns the registry in an image name; undefined if the name contains no registry.
 * https://pkg.go.dev/github.com/distribution/reference
 */
export const registryOf = (image: string): Registry | undefined => {
  const [domain = "", ...path] = image.split("/");
  if (path.length === 0 || !(/[.:A-Z]/.test(domain) || domain === "localhost")) return undefined;
  const [, host = "", port] = /^(.*?)(?::(\d+))?$/.exec(domain) ?? [];
  return { host: host.replace(/^\[|\]$/g, ""), ports: port === undefined ? DEFAULT_PORTS : [Number(port)] };
};

export interface HostAddresses {
  /** The addresses of this machine, including loopback addresses. */
  readonly own: BlockList;
  /** The addresses of this machine's containers, of link-local neighbours, and of cloud metadata services. */
  readonly inner: BlockList;
}

/** Link-local addresses, and IPv6 addresses of cloud metadata services. */
const INNER = ["fe80::/10", "fd00:ec2::/32", "fd20:ce::/32"];

export const readHostAddresses = (): HostAddresses => {
  const all = Object.values(networkInterfaces()).flatMap((one) => one ?? []);
  const addresses = all.map(({ address }) => address.replace(/%.*/, ""));
  return {
    own: blockListOf(["127.0.0.0/8", "0.0.0.0/8", "::1/128", "::/128", ...addresses]),
    inner: blockListOf([...INNER, ...closedSubnets()]),
  };
};

const inList = (list: BlockList, address: string): boolean =>
  isIP(address) !== 0 && list.check(address, isIPv6(address) ? "ipv6" : "ipv4");

/**
 * Returns the reason to reject the registry, with the next step; undefined if the container engine may call the
 * registry.
 * @param addresses the addresses of the registry's host
 */
export const registryBlockedReason = (
  { host, ports }: Registry,
  addresses: readonly string[],
  { own, inner }: HostAddresses,
  allowedPorts: readonly number[],
): string | undefined => {
  const known = [host, ...addresses];
  if (/^(?:.*\.)?localhost\.?$/i.test(host) || known.some((address) => inList(own, address))) {
    if (ports.some((port) => allowedPorts.includes(port))) return undefined;
    return `names a registry on the server's machine. Use an image from another registry, or start the server with --allow-host-port ${ports[0]}`;
  }
  return known.some((address) => inList(inner, address))
    ? "names a registry at an address that only the server's machine can reach. Use an image from another registry"
    : undefined;
};
