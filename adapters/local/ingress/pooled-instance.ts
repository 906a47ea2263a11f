/** An instance in a pool, with the connections of the forwarders to it. */
import type { Instance } from "../instances/instance.ts";

/** Whether the connection was never established, so the instance received nothing. */
export const isUnreachable = (code: string | undefined): boolean => code === "ECONNREFUSED" || code === "EHOSTUNREACH";

export class PooledInstance {
  readonly instance: Instance;
  active = 0;
  idleSince = Date.now();
  /** Gets no more requests. */
  leaving = false;
  /** The pool itself is stopping the instance. */
  stopping = false;
  /** Connections and similar resources for the instance; closed with it. */
  readonly resources = new Map<string, { close(): void }>();

  constructor(instance: Instance) {
    this.instance = instance;
  }

  get origin(): string {
    const { host, port } = this.instance.address;
    return `http://${host}:${port}`;
  }

  /** Returns a resource for the instance; creates it at first use. */
  resource<T extends { close(): void }>(name: string, make: () => T): T {
    const present = this.resources.get(name) as T | undefined;
    if (present !== undefined) return present;
    const made = make();
    this.resources.set(name, made);
    return made;
  }

  closeResources(): void {
    for (const resource of this.resources.values()) resource.close();
    this.resources.clear();
  }
}
