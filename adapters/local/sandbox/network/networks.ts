/** The networks of a server's sandboxes. One is made ahead, because making it takes longer than starting a sandbox. */

import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "../../../../core/ports/system.ts";
import { processInfo } from "../../instances/proc.ts";
import type { Bind } from "../runner.ts";
import { closedSubnets, type HostNetwork, readHostNetwork, readHosts } from "./closed.ts";
import { type Network, openNetwork } from "./pasta.ts";

/** How long an address that the machine gets may stay open to sandboxes that run. */
const LOOK_MS = 500;
/** The next network takes a CPU for a while, which the first requests to a service that has just started need as well. */
const PREPARE_MS = 100;

/** What the last trial said; the machine does not change under a running server. */
let trial: Promise<string | undefined> | undefined;

const tryOne = async (id: string): Promise<string | undefined> => {
  if (process.platform !== "linux") return "networks of services need Linux";
  try {
    await (await openNetwork({ id, inside: undefined, opened: [], host: readHostNetwork() })).close();
    return undefined;
  } catch (error) {
    const { message } = error as Error;
    return message.includes("ENOENT") ? "pasta is not installed" : message;
  }
};

/** Why networks cannot be made here; undefined where they can. */
export const whyNoNetworks = (scope: string): Promise<string | undefined> => {
  trial ??= tryOne(`${scope}.trial`);
  return trial;
};

/** Written in place, for a running sandbox sees the file and not its name. */
const nameFile = (host: string, inside: string, text: string): Bind => {
  writeFileSync(host, text);
  // Readable for the users of services, whatever the mask of this process is.
  chmodSync(host, 0o644);
  return { host, inside, writable: false };
};

interface Spare {
  readonly key: string;
  readonly network: Promise<Network | undefined>;
}

export class Networks {
  readonly #scope: string;
  readonly #logger: Logger;
  readonly #allowed: readonly number[];
  readonly #open = new Set<Network>();
  #platformPorts: () => readonly number[] = () => [];
  #count = 0;
  #spare: Spare | undefined;
  #looking: NodeJS.Timeout | undefined;
  #preparing: NodeJS.Timeout | undefined;
  #closed = false;

  /** @param allowed ports of this machine's loopback that every service may call */
  constructor(scope: string, allowed: readonly number[], logger: Logger) {
    this.#scope = scope;
    this.#allowed = allowed;
    this.#logger = logger;
  }

  /** Names the ports at which the platform itself and its services are called. */
  openTo(platformPorts: () => readonly number[]): void {
    this.#platformPorts = platformPorts;
  }

  /** A network in which a service listens on `inside`. */
  async forService(inside: number, host: HostNetwork): Promise<Network> {
    const spare = await this.#takeSpare(inside, host);
    if (spare === undefined) return this.#make(inside, host);
    await this.#forbid(spare, host.closed);
    return spare;
  }

  /** @param ports of this machine's loopback, such as a registry's */
  forBuild(ports: readonly number[], host: HostNetwork): Promise<Network> {
    return this.#make(undefined, host, [...new Set(ports)]);
  }

  /** Makes the network of the next service that listens on `inside`, a moment later. */
  prepare(inside: number): void {
    if (this.#closed || this.#spare !== undefined) return;
    this.#preparing ??= setTimeout(() => {
      this.#preparing = undefined;
      const host = readHostNetwork();
      const network = this.#make(inside, host).catch(() => undefined);
      this.#spare = { key: this.#keyOf(inside, host), network };
    }, PREPARE_MS).unref();
  }

  /**
   * The files by which a sandbox finds names.
   * @param names host names that lead to the loopback, besides those of this machine
   * @param key the sandboxes with the same key share the names; those that run see a change
   */
  nameFiles(folder: string, { resolver }: HostNetwork, names: readonly string[], key: string): Bind[] {
    const settings = nameFile(join(folder, "resolv.conf"), "/etc/resolv.conf", resolver.settings);
    if (names.length === 0) return [settings];
    const lines = names.map((name) => `127.0.0.1 ${name}\n`);
    return [settings, nameFile(join(folder, `hosts-${key}`), "/etc/hosts", [readHosts(), ...lines].join(""))];
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#looking);
    clearTimeout(this.#preparing);
    await this.#spare?.network;
    await Promise.all([...this.#open].map((network) => network.close()));
  }

  /** A port that the service listens on is the service's own. */
  #portsFor(inside: number | undefined): number[] {
    const ports = new Set([...this.#platformPorts(), ...this.#allowed]);
    if (inside !== undefined) ports.delete(inside);
    return [...ports].sort((a, b) => a - b);
  }

  #keyOf(inside: number, { resolver }: HostNetwork): string {
    return [inside, resolver.isForwarded, ...this.#portsFor(inside)].join();
  }

  /** The network that was made ahead, if it fits and still lives. */
  async #takeSpare(inside: number, host: HostNetwork): Promise<Network | undefined> {
    const spare = this.#spare;
    this.#spare = undefined;
    if (spare === undefined) return undefined;
    if (spare.key !== this.#keyOf(inside, host)) {
      void spare.network.then((network) => network?.close());
      return undefined;
    }
    const network = await spare.network;
    const lives = network !== undefined && this.#open.has(network) && processInfo(network.pid) !== undefined;
    return lives ? network : undefined;
  }

  async #make(inside: number | undefined, host: HostNetwork, opened = this.#portsFor(inside)): Promise<Network> {
    const id = `${this.#scope}.network-${this.#count++}`;
    const network = await openNetwork({ id, inside, opened, host }).catch((cause: unknown) => {
      this.#logger.error("the network of a sandbox could not be made", { cause });
      throw cause;
    });
    this.#open.add(network);
    this.#looking ??= setInterval(() => this.#look(), LOOK_MS).unref();
    void network.ended.then(() => this.#forget(network));
    // This machine may have got an address while the network was made.
    await this.#forbid(network, closedSubnets());
    return network;
  }

  #forget(network: Network): void {
    this.#open.delete(network);
    if (this.#open.size > 0) return;
    clearInterval(this.#looking);
    this.#looking = undefined;
  }

  /** This machine may get further addresses while services run. */
  #look(): void {
    const closed = closedSubnets();
    for (const network of this.#open) void this.#forbid(network, closed);
  }

  /** A network that cannot be closed to an address is ended, and its service with it. */
  async #forbid(network: Network, subnets: readonly string[]): Promise<void> {
    if ((await network.forbid(subnets)) || !this.#open.has(network)) return;
    this.#logger.error("a sandbox ends, because its network could not be closed to a new address of this machine", {
      subnets,
    });
    await network.close();
  }
}
