/** A started instance of a service, and the dependencies that all instances share. */

import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { HealthCheck } from "../../../core/domain/deploy/health.ts";
import type { ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";
import type { NewLogEntry } from "../../../core/domain/logs/entry.ts";
import type { Redactor } from "../../../core/domain/secrets/redact.ts";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import type { Ids, Logger } from "../../../core/ports/system.ts";
import type { Image } from "../builds/image-store.ts";
import type { Toolchain } from "../builds/toolchain.ts";
import type { Containers } from "../containers/containers.ts";
import type { ServiceOutput } from "../logs/service-output.ts";
import type { VolumeFolders } from "../sandbox/mounts.ts";
import { type Exit, type ResourceUse, type Runner, type Running, stopRunning } from "../sandbox/runner.ts";
import type { UserOf } from "../sandbox/users/account-users.ts";
import type { SecretResolver } from "../secrets/resolve-secrets.ts";
import type { Metered } from "../usage/meter.ts";
import type { BusySocket } from "./busy-socket.ts";
import { checkHealth, type HealthResult } from "./health-check.ts";
import { type Http2ProbeResult, probeHttp2 } from "./http2-probe.ts";
import { type Address, accepts, type ListenState, loopback, staysOpen } from "./listen-state.ts";

/** The maximum number of characters of an output line that a failure contains. */
const TAIL_LINE_CHARS = 2000;

export interface InstanceDeps {
  readonly runner: Runner;
  /** Runs images built from a Dockerfile. A string is the reason why containers are unavailable. */
  readonly containers: Containers | string;
  /** True if Node.js needs an option for its memory limit because it cannot read the limit from a control group. */
  readonly tellsNodeItsMemory: boolean;
  readonly toolchain: Toolchain;
  readonly secrets: Pick<SecretResolver, "resolve">;
  readonly volumes: VolumeFolders;
  readonly userOf: UserOf;
  /** Host names that resolve to the loopback address in the separate networks of the account's services. */
  readonly namesFor: (owner: AccountId) => readonly string[];
  /** Contains the notes and busy sockets of instances, and the home folders of plain processes. */
  readonly runDir: string;
  /** Contains the caches of builds, such as virtual environments. */
  readonly cacheDir: string;
  /** The ids of this engine's jobs start with this mark and a dot. */
  readonly mark: string;
  readonly ids: Ids;
  readonly log: (entry: NewLogEntry) => Promise<void> | undefined;
  /** @param at the time of the output, if another process, such as a container engine, recorded the time */
  readonly logOutput: (output: ServiceOutput, at?: Instant) => Promise<void> | undefined;
  readonly logger: Logger;
  /** Starts metering an instance. Undefined if usage is not metered. */
  readonly meter?: (template: ServiceTemplate) => Metered;
  readonly graceMillis: number;
  /** How long the listen state of a service may be `elsewhere` before its start fails. */
  readonly elsewhereMillis: number;
}

export interface InstanceSpec {
  readonly template: ServiceTemplate;
  readonly revision: string;
  readonly image: Image;
}

/** The resources that `launchService` creates for an instance, in addition to its processes. */
export interface InstanceParts {
  /** The last lines of output, oldest first, with the values of secrets. Changes while the instance runs. */
  readonly tail: readonly string[];
  /** Removes the values of secrets from text that leaves the service's own log. */
  readonly redactor: Redactor;
  readonly metered: Metered | undefined;
  readonly busySocket: BusySocket | undefined;
}

export class Instance {
  readonly id: string;
  readonly port: number;
  readonly #running: Running;
  readonly #deps: InstanceDeps;
  readonly #parts: InstanceParts;
  #stopping: Promise<Exit> | undefined;

  constructor(deps: InstanceDeps, running: Running, port: number, parts: InstanceParts) {
    this.id = running.id.slice(running.id.lastIndexOf(".") + 1);
    this.port = port;
    this.#deps = deps;
    this.#running = running;
    this.#parts = parts;
  }

  /** The address through which the platform connects to the instance. */
  get address(): Address {
    return this.#running.address ?? loopback(this.port);
  }

  /** Resolves when the command runs or has failed to start. */
  get begun(): Promise<void> {
    return this.#running.begun;
  }

  /** Resolves when the command and all its processes have exited. */
  get exited(): Promise<Exit> {
    return this.#running.exited;
  }

  /** The last lines of output, oldest first, without the values of secrets. */
  get tail(): readonly string[] {
    return this.#parts.tail.map((line) => this.#parts.redactor.redact(line, TAIL_LINE_CHARS));
  }

  processes(): number[] {
    return this.#running.processes();
  }

  /** Whether any program accepts connections at the instance's address. */
  accepts(): Promise<boolean> {
    return this.#running.accepts?.() ?? accepts(this.address);
  }

  /**
   * Returns whether the service accepts connections over IPv4. Opens a connection to a service with a separate network,
   * because the socket tables of that network do not show this. Returns true for other services, without a check.
   */
  async connects(): Promise<boolean> {
    return this.#running.accepts === undefined || staysOpen(this.address);
  }

  /** Opens a separate connection to check whether the instance speaks HTTP/2. */
  probeHttp2(): Promise<Http2ProbeResult> {
    return probeHttp2(this.address);
  }

  checkHealth(check: HealthCheck, useHttp2: boolean, signal: AbortSignal): Promise<HealthResult> {
    return checkHealth(this.address, check, useHttp2, signal, this.#parts.redactor);
  }

  /** @param open whether any program accepts connections on the instance's port */
  listenState(open: boolean): Promise<ListenState> {
    return this.#running.listenState(this.port, open);
  }

  /** Pauses the instance, which keeps its memory and is metered without CPU. Rejects if it cannot be paused. */
  async freeze(): Promise<void> {
    await this.#running.freeze();
    this.#parts.metered?.freeze();
  }

  /** Resumes the instance if it is frozen. */
  async thaw(): Promise<void> {
    await this.#running.thaw();
    this.#parts.metered?.thaw();
  }

  /** The bytes of memory that the instance uses. */
  memory(): number {
    return this.#running.memory();
  }

  /** When the instance started, in milliseconds since the epoch. */
  get startedAt(): number {
    return this.#running.startedAt;
  }

  /** Returns the resources that the instance uses, or undefined if the platform cannot measure them. */
  use(): ResourceUse | undefined {
    return this.#running.use();
  }

  /** The end of the busy lease in milliseconds since the epoch; in the past if the instance has none. */
  get busyUntil(): number {
    return this.#parts.busySocket?.until ?? 0;
  }

  /** Calls the function after each change of the busy lease. */
  onLease(listener: () => void): void {
    this.#parts.busySocket?.onLease(listener);
  }

  stop(): Promise<Exit> {
    this.#parts.busySocket?.refuse();
    this.#stopping ??= stopRunning(this.#running, this.#deps.graceMillis);
    return this.#stopping;
  }

  kill(): void {
    this.#running.kill();
  }
}
