/** One instance of a service that was started, and what all of them need. */

import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";
import type { NewLogEntry } from "../../../core/domain/logs/entry.ts";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import type { Ids, Logger } from "../../../core/ports/system.ts";
import type { Image } from "../builds/images.ts";
import type { Toolchain } from "../builds/toolchain.ts";
import type { Containers } from "../containers/containers.ts";
import type { VolumeFolders } from "../sandbox/mounts.ts";
import { type Exit, type Runner, type Running, stopRunning } from "../sandbox/runner.ts";
import type { UserOf } from "../sandbox/users/account-users.ts";
import { askHttp2, type Http2Answer } from "./http2-probe.ts";
import { type Address, accepts, loopback, type Sight, staysOpen } from "./ready.ts";

export interface InstanceDeps {
  readonly runner: Runner;
  /** Runs what was built from a Dockerfile; or in words why nothing does. */
  readonly containers: Containers | string;
  /** Where Node must be told its memory limit, because no kernel limit tells it. */
  readonly tellsNodeItsMemory: boolean;
  readonly toolchain: Toolchain;
  readonly volumes: VolumeFolders;
  readonly userOf: UserOf;
  /** Host names that lead to the loopback in the separate networks of the account's services. */
  readonly namesFor: (owner: AccountId) => readonly string[];
  /** Folders of instances that run without a sandbox. */
  readonly runDir: string;
  /** Holds what builds keep, such as virtual environments. */
  readonly cacheDir: string;
  readonly scope: string;
  readonly ids: Ids;
  /** @param at when it was said, where somebody else than this process saw that */
  readonly log: (entry: NewLogEntry, at?: Instant) => Promise<void> | undefined;
  readonly logger: Logger;
  /** Counts how long it runs, from its start to what this returns; absent: nobody counts. */
  readonly meter?: (template: ServiceTemplate) => () => void;
  readonly graceMillis: number;
  /** How long a service may listen elsewhere before that is taken for its last word. */
  readonly elsewhereMillis: number;
}

export interface InstanceSpec {
  readonly template: ServiceTemplate;
  readonly revision: string;
  readonly image: Image;
}

export class Instance {
  readonly id: string;
  readonly port: number;
  readonly #running: Running;
  readonly #deps: InstanceDeps;
  readonly #tail: readonly string[];
  #stopping: Promise<Exit> | undefined;

  constructor(deps: InstanceDeps, running: Running, port: number, tail: readonly string[]) {
    this.id = running.id.slice(running.id.indexOf(".") + 1);
    this.port = port;
    this.#deps = deps;
    this.#running = running;
    this.#tail = tail;
  }

  /** Where it takes connections. */
  get address(): Address {
    return this.#running.address ?? loopback(this.port);
  }

  /** Resolves when its command runs, or will not. */
  get begun(): Promise<void> {
    return this.#running.begun;
  }

  /** Resolves when nothing of it is left. */
  get exited(): Promise<Exit> {
    return this.#running.exited;
  }

  /** The last lines that it printed, oldest first. */
  get tail(): readonly string[] {
    return [...this.#tail];
  }

  processes(): number[] {
    return this.#running.processes();
  }

  /** Whether something accepts connections where it takes them. */
  accepts(): Promise<boolean> {
    return this.#running.accepts?.() ?? accepts(this.address);
  }

  /** Whether connections reach it: in a separate network, the kernel does not show which families a socket accepts. */
  async connects(): Promise<boolean> {
    return this.#running.accepts === undefined || staysOpen(this.address);
  }

  /** Whether the instance speaks HTTP/2. Opens a separate connection. */
  askHttp2(): Promise<Http2Answer> {
    return askHttp2(this.address);
  }

  /** @param open whether something accepts connections on its port */
  look(open: boolean): Promise<Sight> {
    return this.#running.look(this.port, open);
  }

  stop(): Promise<Exit> {
    this.#stopping ??= stopRunning(this.#running, this.#deps.graceMillis);
    return this.#stopping;
  }

  kill(): void {
    this.#running.kill();
  }
}
