/**
 * Creates the networks of a server's sandboxes. Keeps a spare network, because creating a network takes longer than
 * starting a sandbox.
 */

import { join } from "node:path";
import type { Logger } from "../../../../core/ports/system.ts";
import { processInfo } from "../../instances/proc.ts";
import { writeMounted } from "../host-files.ts";
import type { Bind } from "../runner.ts";
import { closedSubnets, type HostNetwork, readHostNetwork, readHosts } from "./host-network.ts";
import { type Network, openNetwork } from "./pasta.ts";

/** How often Portside checks for new addresses of this machine, which running sandboxes must not reach. */
const POLL_MS = 500;
/** Delays the creation of a spare network, so that the first requests to a new service get the CPU time. */
const PREPARE_MS = 100;

/** The result of the trial, cached because it does not change while the server runs. */
let trial: Promise<string | undefined> | undefined;

const tryOne = async (id: string): Promise<string | undefined> => {
  if (process.platform !== "linux") return "separate networks need Linux";
  try {
    await (await openNetwork({ id, inside: undefined, opened: [], host: readHostNetwork() })).close();
    return undefined;
  } catch (error) {
    const { message } = error as Error;
    return message.includes("ENOENT") ? "pasta is not installed" : message;
  }
};

/** Returns the reason why this machine cannot create networks, or undefined. */
export const whyNoNetworks = (mark: string): Promise<string | undefined> => {
  trial ??= tryOne(`${mark}.trial`);
  return trial;
};

interface Spare {
  readonly key: string;
  readonly network: Promise<Network | undefined>;
}

export class Networks {
  readonly #mark: string;
  readonly #logger: Logger;
  readonly #allowed: readonly number[];
  readonly #open = new Set<Network>();
  #platformPorts: () => readonly number[] = () => [];
  #count = 0;
  #spare: Spare | undefined;
  #polling: NodeJS.Timeout | undefined;
  #preparing: NodeJS.Timeout | undefined;
  #closed = false;

  /**
   * @param mark the prefix of the networks' ids
   * @param allowed ports of this machine's loopback address that every service may call
   */
  constructor(mark: string, allowed: readonly number[], logger: Logger) {
    this.#mark = mark;
    this.#allowed = allowed;
    this.#logger = logger;
  }

  /** Sets the ports on which the platform and its services listen. */
  openTo(platformPorts: () => readonly number[]): void {
    this.#platformPorts = platformPorts;
  }

  /** Returns a network in which a service listens on port `inside`. */
  async forService(inside: number, host: HostNetwork): Promise<Network> {
    const spare = await this.#takeSpare(inside, host);
    if (spare === undefined) return this.#make(inside, host);
    await this.#forbid(spare, host.closed);
    return spare;
  }

  /** @param ports ports of this machine's loopback address, such as a registry's */
  forBuild(ports: readonly number[], host: HostNetwork): Promise<Network> {
    return this.#make(undefined, host, [...new Set(ports)]);
  }

  /** After `PREPARE_MS`, creates a spare network for the next service that listens on port `inside`. */
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
   * Writes the files that a sandbox uses to resolve names.
   * @param names host names that resolve to the loopback address, in addition to the entries of this machine's
   * /etc/hosts
   * @param key sandboxes with the same key share the hosts file, so running sandboxes see changes
   */
  nameFiles(folder: string, { resolver }: HostNetwork, names: readonly string[], key: string): Bind[] {
    const settings = writeMounted(join(folder, "resolv.conf"), "/etc/resolv.conf", resolver.settings);
    if (names.length === 0) return [settings];
    const lines = names.map((name) => `127.0.0.1 ${name}\n`);
    return [settings, writeMounted(join(folder, `hosts-${key}`), "/etc/hosts", [readHosts(), ...lines].join(""))];
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#polling);
    clearTimeout(this.#preparing);
    await this.#spare?.network;
    await Promise.all([...this.#open].map((network) => network.close()));
  }

  /** Returns the ports to open in a network. Omits the service's own port, which must stay free for the service. */
  #portsFor(inside: number | undefined): number[] {
    const ports = new Set([...this.#platformPorts(), ...this.#allowed]);
    if (inside !== undefined) ports.delete(inside);
    return [...ports].sort((a, b) => a - b);
  }

  #keyOf(inside: number, { resolver }: HostNetwork): string {
    return [inside, resolver.isForwarded, ...this.#portsFor(inside)].join();
  }

  /** Returns the spare network if its settings match and its process is alive. */
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
    const id = `${this.#mark}.network-${this.#count++}`;
    const network = await openNetwork({ id, inside, opened, host }).catch((cause: unknown) => {
      this.#logger.error("could not create the network of a sandbox", { cause });
      throw cause;
    });
    this.#open.add(network);
    this.#polling ??= setInterval(() => this.#poll(), POLL_MS).unref();
    void network.ended.then(() => this.#forget(network));
    // The machine may have received an address while the network was created.
    await this.#forbid(network, closedSubnets());
    return network;
  }

  #forget(network: Network): void {
    this.#open.delete(network);
    if (this.#open.size > 0) return;
    clearInterval(this.#polling);
    this.#polling = undefined;
  }

  /** Forbids addresses that the machine has received while services run. */
  #poll(): void {
    const closed = closedSubnets();
    for (const network of this.#open) void this.#forbid(network, closed);
  }

  /** Forbids the subnets in a network. If that fails, ends the network and thus its service. */
  async #forbid(network: Network, subnets: readonly string[]): Promise<void> {
    if ((await network.forbid(subnets)) || !this.#open.has(network)) return;
    this.#logger.error("could not forbid a new address of this machine in a sandbox's network; ended the sandbox", {
      subnets,
    });
    await network.close();
  }
}
