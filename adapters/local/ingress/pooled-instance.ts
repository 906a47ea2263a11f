/** An instance in a pool, with the connections that forward requests to it. */
import type { ClientHttp2Session } from "node:http2";
import type { Dispatcher } from "undici";
import type { Instance } from "../instances/instance.ts";

/** True if the connection was never established, so the instance has received nothing. */
export const isUnreachable = (code: string | undefined): boolean => code === "ECONNREFUSED" || code === "EHOSTUNREACH";

export class PooledInstance {
  readonly instance: Instance;
  /** When the instance joined its pool, by `performance.now()`. */
  readonly joinedAt = performance.now();
  active = 0;
  idleSince = Date.now();
  /** If true, the instance must be thawed before it gets a request. */
  frozen = false;
  /** Set while the instance is being thawed. Resolves when the thaw has succeeded or failed. */
  thawing: Promise<void> | undefined;
  /** Bytes of memory, measured when the instance was frozen. */
  memory = 0;
  /** If true, the instance gets no more requests. */
  leaving = false;
  /** If true, the instance failed its health check and leaves. */
  unhealthy = false;
  /** If true, the pool is stopping the instance, so its exit is not a crash. */
  stopping = false;
  http1: Dispatcher | undefined;
  http2: ClientHttp2Session | undefined;

  constructor(instance: Instance) {
    this.instance = instance;
  }

  get busyUntil(): number {
    return this.instance.busyUntil;
  }

  get origin(): string {
    const { host, port } = this.instance.address;
    return `http://${host}:${port}`;
  }

  closeConnections(): void {
    void this.http1?.destroy();
    this.http2?.destroy();
    this.http1 = undefined;
    this.http2 = undefined;
  }
}
