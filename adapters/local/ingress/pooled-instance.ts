/** An instance in a pool, with the connections of the forwarders to it. */
import type { ClientHttp2Session } from "node:http2";
import type { Dispatcher } from "undici";
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
  /** The forwarders' connections to the instance. */
  http1: Dispatcher | undefined;
  http2: ClientHttp2Session | undefined;

  constructor(instance: Instance) {
    this.instance = instance;
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
