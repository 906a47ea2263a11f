/** An instance in its pool, with whatever the forwarders keep for it. */
import type { Instance } from "../runner/instance.ts";

/** What a connection fails with that was never made, so that the instance saw nothing: it no longer listens, or is gone. */
export const neverMade = (code: string | undefined): boolean => code === "ECONNREFUSED" || code === "EHOSTUNREACH";

export class Member {
  readonly instance: Instance;
  active = 0;
  idleSince = Date.now();
  /** Gets no further requests. */
  leaving = false;
  /** Its end is the pool's own wish. */
  stopping = false;
  /** Connections to the instance and the like; closed with it. */
  readonly resources = new Map<string, { close(): void }>();

  constructor(instance: Instance) {
    this.instance = instance;
  }

  get origin(): string {
    const { host, port } = this.instance.address;
    return `http://${host}:${port}`;
  }

  /** Something that is kept for the instance, made at its first use. */
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
