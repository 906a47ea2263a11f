/**
 * Determines which IP addresses are public, from IANA's registries:
 * https://www.iana.org/assignments/iana-ipv4-special-registry (and ipv6).
 */
import { BlockList, isIP } from "node:net";

const special = new BlockList();
for (const [network, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
] as const)
  special.addSubnet(network, prefix, "ipv4");

/** Only these IPv6 addresses are global unicast addresses (RFC 4291). The others are reserved or local. */
const globalUnicast = new BlockList();
globalUnicast.addSubnet("2000::", 3, "ipv6");

/** Parts of `2000::/3` that are not public: Teredo, documentation and 6to4, which can contain private IPv4 addresses. */
for (const [network, prefix] of [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
] as const)
  special.addSubnet(network, prefix, "ipv6");

/** Returns whether an IP address belongs to a host on the public internet. */
export const isPublicAddress = (address: string): boolean => {
  switch (isIP(address)) {
    case 4:
      return !special.check(address, "ipv4");
    case 6:
      return globalUnicast.check(address, "ipv6") && !special.check(address, "ipv6");
    default:
      return false;
  }
};
