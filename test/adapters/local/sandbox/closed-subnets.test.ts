/** Addresses that a sandbox's network must not reach, and its name servers. */
import { networkInterfaces } from "node:os";
import { expect, test } from "vitest";
import { closedSubnets, RESOLVER, resolverSettings } from "../../../../adapters/local/sandbox/network/host-network.ts";

test("includes every IPv4 address of this machine and the clouds' metadata addresses", () => {
  const closed = closedSubnets();
  for (const all of Object.values(networkInterfaces()))
    for (const { address, family } of all ?? [])
      if (family === "IPv4" && !address.startsWith("127.")) expect(closed).toContain(`${address}/32`);
  expect(closed).toEqual(expect.arrayContaining(["169.254.0.0/16", "168.63.129.16/32", "224.0.0.0/4"]));
  expect(new Set(closed).size).toBe(closed.length);
});

const closed = ["169.254.0.0/16", "192.0.2.2/32"];
const asked = (text: string): string[] =>
  resolverSettings(text, closed)
    .split("\n")
    .filter((line) => line !== "");

test("programs query reachable resolvers directly", () => {
  const text = "search example.com\nnameserver 10.0.0.2\nnameserver 9.9.9.9\noptions ndots:2\n";
  expect(resolverSettings(text, closed)).toBe(text);
});

test.each(["127.0.0.53", "127.0.0.1", "169.254.169.254", "192.0.2.2", "::1", "fd00:ec2::253", "fe80::1%eth0"])(
  "pasta forwards queries to a resolver at %s",
  (address) => {
    const search = "search example.com";
    const other = `${search}\nnameserver ${address}\nnameserver 10.0.0.2\n`;
    expect(asked(other)).toEqual([search, `nameserver ${RESOLVER}`]);
  },
);

test("pasta forwards queries on a machine without resolv.conf", () => {
  expect(asked("")).toEqual([`nameserver ${RESOLVER}`]);
});
