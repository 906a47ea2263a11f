/**
 * Must run in a network namespace, which it treats as the network of a machine. Changes the addresses of that machine
 * and prints, as JSON, what the networks of sandboxes can reach.
 */
import { execFile, spawnSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { enterNetwork, namespacesOf } from "../../../adapters/local/sandbox/network/enter-network.ts";
import { readHostNetwork } from "../../../adapters/local/sandbox/network/host-network.ts";
import { Networks } from "../../../adapters/local/sandbox/network/networks.ts";
import type { Network } from "../../../adapters/local/sandbox/network/pasta.ts";
import { silentLogger } from "../logs/silent-logger.ts";
import { networksOf } from "./sandbox-networks.ts";

const run = promisify(execFile);

const PORT = 8080;
const ip = (words: string): void => {
  const { status, stderr } = spawnSync("ip", words.split(" "), { encoding: "utf8" });
  if (status !== 0) throw new Error(`ip ${words}: ${stderr}`);
};

const addBridge = (name: string, cidr: string): void => {
  ip(`link add ${name} type bridge`);
  ip(`addr add ${cidr} dev ${name}`);
  ip(`link set ${name} up`);
};

ip("link set lo up");
ip("link add outer type veth peer name wire");
ip("addr add 192.0.2.2/24 dev outer");
for (const name of ["outer", "wire"]) ip(`link set ${name} up`);
ip("route add default via 192.0.2.1");
addBridge("inner0", "172.31.9.1/24");
ip("addr add 172.31.9.7/32 dev inner0");
ip("addr add 169.254.169.254/32 dev outer");

const secret = createServer((socket) => socket.end("secret")).listen(0, "0.0.0.0");
await once(secret, "listening");
const { port } = secret.address() as { port: number };
const datagrams = createSocket("udp4", (_, sender) => datagrams.send("secret", sender.port, sender.address));
datagrams.bind(port, "0.0.0.0");
await once(datagrams, "listening");

/** Prints what it receives by TCP and UDP: on an unbound socket, and on one bound to each interface. */
const CLIENT = `import errno, socket, sys
heard = set()
for device in [None, b"lo", b"eth0"]:
  for kind in [socket.SOCK_STREAM, socket.SOCK_DGRAM]:
    client = socket.socket(type=kind)
    client.settimeout(0.5)
    try:
      if device: client.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device)
      client.connect((sys.argv[1], ${port}))
      client.send(b"x")
      heard.add(client.recv(100).decode())
    except OSError as error:
      heard.add("silent" if error.errno is None else errno.errorcode[error.errno])
print(",".join(sorted(heard)))`;

/** Returns the text that a program in the network receives from an address. */
const reach = async ({ pid }: Network, host: string): Promise<string> => {
  const argv = [...enterNetwork(namespacesOf(pid)), "python3", "-c", CLIENT, host];
  return (await run(argv[0] as string, argv.slice(1))).stdout.trim();
};

/** Retries until the program no longer receives the secret, and returns the last result. */
const reachOnceClosed = async (network: Network, host: string): Promise<string> => {
  for (;;) {
    const outcome = await reach(network, host);
    if (!outcome.includes("secret")) return outcome;
    await sleep(50);
  }
};

const scope = process.argv[2] as string;
const networks = new Networks(scope, [], silentLogger);
const heard: Record<string, string> = {};

const first = await networks.forService(PORT, readHostNetwork());
heard["own address"] = await reach(first, "192.0.2.2");
heard["bridge"] = await reach(first, "172.31.9.1");
heard["container behind the bridge"] = await reach(first, "172.31.9.7");
heard["metadata service"] = await reach(first, "169.254.169.254");

ip("addr add 198.18.7.1/32 dev lo");
heard["address added while the network was in use"] = await reachOnceClosed(first, "198.18.7.1");
addBridge("inner1", "172.31.10.1/24");
heard["bridge added while the network was in use"] = await reachOnceClosed(first, "172.31.10.1");

const making = networks.forService(PORT, readHostNetwork());
ip("addr add 198.18.7.2/32 dev lo");
heard["address added while the network was created"] = await reach(await making, "198.18.7.2");

const before = networksOf(scope);
networks.prepare(PORT);
while (![...networksOf(scope)].some(([name, { holder }]) => !before.has(name) && holder !== undefined)) await sleep(20);
ip("addr add 198.18.7.3/32 dev lo");
const spare = await networks.forService(PORT, readHostNetwork());
heard["address added while the network was spare"] = await reach(spare, "198.18.7.3");

console.log(JSON.stringify(heard));
await networks.close();
process.exit();
