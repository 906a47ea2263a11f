/** The networks of a server's sandboxes. One is made ahead, because making it takes longer than starting a sandbox. */

import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "../../../../core/ports/system.ts";
import type { Bind } from "../runner.ts";
import { closedSubnets, RESOLVER, resolverSettings } from "./closed.ts";
import { type Network, openNetwork } from "./pasta.ts";

const LOOK_MS = 5000;

/** What the last trial said; the machine does not change under a running server. */
let trial: Promise<string | undefined> | undefined;

const tryOne = async (id: string): Promise<string | undefined> => {
  if (process.platform !== "linux") return "networks of services need Linux";
  try {
    await (await openNetwork({ id, inside: undefined, opened: [], forwardsNames: false })).close();
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

/** The settings of the resolver as they are now, for a separate network. */
const currentSettings = (): string => {
  let text = "";
  try {
    text = readFileSync("/etc/resolv.conf", "utf8");
  } catch {
    // Without settings, names are asked through pasta.
  }
  return resolverSettings(text, closedSubnets());
};

const forwardsNames = (): boolean => currentSettings().includes(RESOLVER);

export class Networks {
  readonly #scope: string;
  readonly #logger: Logger;
  readonly #allowed: readonly number[];
  readonly #open = new Set<Network>();
  #platformPorts: () => readonly number[] = () => [];
  #count = 0;
  #spare: { readonly key: string; readonly network: Promise<Network | undefined> } | undefined;
  #forbidden = new Set(closedSubnets());
  #timer: NodeJS.Timeout | undefined;
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
  async forService(inside: number): Promise<Network> {
    const ready = this.#takeSpare(inside);
    const network = (await ready) ?? (await this.#make(inside, this.#portsFor(inside)));
    if (this.#spare === undefined) this.#prepare(inside);
    return network;
  }

  /** @param ports of this machine's loopback, such as a registry's */
  forBuild(ports: readonly number[]): Promise<Network> {
    return this.#make(undefined, [...new Set(ports)]);
  }

  /** The settings of the resolver as they are now, for a sandbox. */
  resolver(folder: string): Bind {
    const host = join(folder, "resolv.conf");
    writeFileSync(host, currentSettings());
    // Readable for the users of services, whatever the mask of this process is.
    chmodSync(host, 0o644);
    return { host, inside: "/etc/resolv.conf", writable: false };
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    await this.#spare?.network;
    await Promise.all([...this.#open].map((network) => network.close()));
  }

  /** A port that the service listens on is the service's own. */
  #portsFor(inside: number): number[] {
    const ports = new Set([...this.#platformPorts(), ...this.#allowed]);
    ports.delete(inside);
    return [...ports].sort((a, b) => a - b);
  }

  #keyOf(inside: number): string {
    return [inside, forwardsNames(), ...this.#portsFor(inside)].join();
  }

  #takeSpare(inside: number): Promise<Network | undefined> | undefined {
    const spare = this.#spare;
    this.#spare = undefined;
    if (spare?.key === this.#keyOf(inside)) return spare.network;
    void spare?.network.then((network) => network?.close());
    return undefined;
  }

  #prepare(inside: number): void {
    if (this.#closed) return;
    const network = this.#make(inside, this.#portsFor(inside)).catch(() => undefined);
    this.#spare = { key: this.#keyOf(inside), network };
  }

  async #make(inside: number | undefined, opened: readonly number[]): Promise<Network> {
    const id = `${this.#scope}.network-${this.#count++}`;
    const network = await openNetwork({ id, inside, opened, forwardsNames: forwardsNames() }).catch(
      (cause: unknown) => {
        this.#logger.error("the network of a sandbox could not be made", { cause });
        throw cause;
      },
    );
    this.#open.add(network);
    this.#timer ??= setInterval(() => this.#look(), LOOK_MS).unref();
    void network.ended.then(() => this.#open.delete(network));
    return network;
  }

  /** This machine may get further addresses while services run. */
  #look(): void {
    const fresh = closedSubnets().filter((subnet) => !this.#forbidden.has(subnet));
    if (fresh.length === 0) return;
    for (const subnet of fresh) this.#forbidden.add(subnet);
    for (const network of this.#open) network.forbid(fresh);
  }
}
