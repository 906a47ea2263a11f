/** Creates and starts one container, reads its log line by line, waits until it ends, and removes it. */
import { setTimeout as sleep } from "node:timers/promises";
import type Docker from "dockerode";
import type { Container, ContainerInspectInfo } from "dockerode";
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import { formatMemory } from "../../../core/domain/deploy/resources.ts";
import { listenersIn } from "../../shared/runtime/listening.ts";
import { exitOf } from "../instances/exit-code.ts";
import { type Address, judgeListeners, type ListenState, loopback, staysOpen } from "../instances/listen-state.ts";
import { allProcesses, memoryOfAll, treeOf, useOf } from "../instances/proc.ts";
import { containerFreezer, groupsOf } from "../sandbox/freezer.ts";
import type { Exit, OnOutput, ResourceUse, Running } from "../sandbox/runner.ts";
import { ContainerLog } from "./container-log.ts";
import { type ContainerJob, createOptions } from "./create-options.ts";
import type { ContainerEngine } from "./engine.ts";
import { startFailureOf } from "./start-failure.ts";
import { anonymousVolumes, measureWrittenBytes } from "./written-bytes.ts";

/** A container's settings, and a function to call after the container has been removed. */
export interface PreparedContainer {
  readonly job: ContainerJob;
  readonly cleanUp: () => Promise<void>;
}

export interface ContainerStart {
  readonly id: string;
  readonly prepare: () => Promise<PreparedContainer>;
  /** Removes the container. After an error, retries until the container is removed or the server closes. */
  readonly remove: (container: Container) => Promise<void>;
  readonly onOutput: OnOutput;
}

const LOG_DRAIN_MS = 2000;
const RETRY_MS = 50;
const DISK_POLL_MS = 3000;
/** The maximum time for a pause or a resume. */
const PAUSE_MS = 5000;

export class RunningContainer implements Running {
  readonly id: string;
  readonly startedAt = Date.now();
  readonly exited: Promise<Exit>;
  /**
   * The address in the container's network, if this process can reach it. Connections to this address bypass the
   * container engine's proxy, which accepts every connection.
   */
  address: Address | undefined;
  readonly #engine: ContainerEngine;
  readonly #begun = Promise.withResolvers<void>();
  #container: Container | undefined;
  /** The pid of the container's first process on this machine; 0 while the container does not run. */
  #pid = 0;
  #inside: number | undefined;
  /** The function that resumes a frozen container; undefined if the container is not frozen. */
  #resume: (() => unknown) | undefined;
  #turn: Promise<void> = Promise.resolve();
  #memoryLimit = 0;
  readonly #killed = new AbortController();
  #overflown: DeployFailure | undefined;

  constructor(engine: ContainerEngine, start: ContainerStart) {
    this.id = start.id;
    this.#engine = engine;
    this.exited = this.#live(start).finally(this.#begun.resolve);
  }

  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  processes(): number[] {
    return this.#pid === 0 ? [] : [this.#pid];
  }

  async listenState(port: number, open: boolean): Promise<ListenState> {
    if (this.#pid === 0) return { kind: "nothing" };
    const inside = this.#inside ?? port;
    if (this.#engine.sharesKernel) return judgeListeners(await listenersIn(this.#pid), inside, true);
    // The container engine accepts connections even if nothing in the container listens, and then closes them.
    return open && (await staysOpen(loopback(port))) ? { kind: "right" } : { kind: "nothing" };
  }

  freeze(): Promise<void> {
    return this.#inTurn(async () => {
      const container = this.#container;
      if (container === undefined) return;
      // A direct thaw takes less than 1 ms. A thaw by the container engine takes about 20 ms, because it starts a
      // program.
      const freezer = this.#engine.sharesKernel ? containerFreezer(groupsOf(this.#pid), container.id) : undefined;
      if (freezer === undefined) {
        await container.pause({ abortSignal: AbortSignal.timeout(PAUSE_MS) });
        this.#resume = () => container.unpause({ abortSignal: AbortSignal.timeout(PAUSE_MS) });
      } else {
        freezer.freeze();
        this.#resume = freezer.thaw;
      }
    });
  }

  thaw(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#resume?.();
      this.#resume = undefined;
    });
  }

  memory(): number {
    return this.#engine.sharesKernel ? memoryOfAll(treeOf(this.#pid, allProcesses())) : this.#memoryLimit;
  }

  use(): ResourceUse | undefined {
    return this.#engine.sharesKernel ? useOf(treeOf(this.#pid, allProcesses())) : undefined;
  }

  terminate(): void {
    this.#signal("SIGTERM");
  }

  kill(): void {
    this.#killed.abort();
    // Podman sends no signal to a paused container. With version 1 of control groups, SIGKILL does not end a frozen
    // process.
    const end = () => this.#signal("SIGKILL");
    void this.thaw().then(end, end);
  }

  /** Serializes pauses and resumes, because the container engine rejects a second pause or resume. */
  #inTurn(step: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(step);
    this.#turn = done.catch(() => undefined);
    return done;
  }

  #signal(signal: NodeJS.Signals): void {
    // The container or the container engine may have ended. `exited` reports this.
    this.#container?.kill({ signal }).catch(() => undefined);
  }

  async #live({ prepare, remove, onOutput }: ContainerStart): Promise<Exit> {
    let prepared: PreparedContainer | undefined;
    try {
      prepared = await prepare();
      return await this.#run(prepared.job, onOutput);
    } catch (error) {
      return startFailureOf(this.#engine, error);
    } finally {
      this.#pid = 0;
      if (this.#container !== undefined) await remove(this.#container);
      await prepared?.cleanUp();
    }
  }

  async #run(job: ContainerJob, onOutput: OnOutput): Promise<Exit> {
    const docker = await this.#engine.docker();
    const container = await docker.createContainer(createOptions(job, this.#engine));
    this.#container = container;
    this.#inside = job.port?.inside;
    this.#memoryLimit = job.limits.memory;
    // The container engine reads the image's /etc/passwd, and blocks forever if the file is a pipe.
    await container.start({ abortSignal: this.#killed.signal }).catch((error: unknown) => {
      if (!this.#killed.signal.aborted) throw error;
    });
    if (this.#killed.signal.aborted) return { code: null, signal: "SIGKILL", outOfMemory: false };
    this.#begun.resolve();
    const { State, NetworkSettings, Mounts } = await container.inspect();
    const { sharesKernel, rootless } = this.#engine;
    const host = NetworkSettings.Networks[job.network]?.IPAddress;
    if (sharesKernel && !rootless && host && job.port !== undefined) this.address = { host, port: job.port.inside };
    this.#pid = State.Pid;
    const unwatch = job.readOnly
      ? undefined
      : this.#watchDisk(docker, container, anonymousVolumes({ Mounts }), job.disk);
    try {
      const { ExitCode, OOMKilled } = await this.#follow(container, onOutput);
      return {
        ...exitOf(ExitCode, null),
        outOfMemory: OOMKilled,
        ...(this.#overflown === undefined ? {} : { failure: this.#overflown }),
      };
    } finally {
      unwatch?.();
      this.#pid = 0;
    }
  }

  /**
   * Polls the size of the container's files, and kills the container if they exceed the limit. Neither Docker nor
   * Podman can enforce this limit with every storage driver.
   */
  #watchDisk(docker: Docker, container: Container, volumes: readonly string[], max: number): () => void {
    let timer: NodeJS.Timeout | undefined;
    const look = async () => {
      // `exited` reports a container engine that does not respond.
      const written = await measureWrittenBytes(docker, container, volumes).catch(() => 0);
      if (timer === undefined) return;
      timer = setTimeout(look, DISK_POLL_MS);
      if (written <= max || this.#overflown !== undefined) return;
      this.#overflown = {
        reason: "crashed",
        message: `The service wrote more than ${formatMemory(max)} to its own files and was killed. Write to a volume instead.`,
      };
      this.kill();
    };
    timer = setTimeout(look, DISK_POLL_MS);
    return () => {
      clearTimeout(timer);
      timer = undefined;
    };
  }

  /**
   * Reads the log until the container ends, and returns the container's final state. Continues after a restart of
   * the container engine.
   */
  async #follow(container: Container, onOutput: OnOutput): Promise<ContainerInspectInfo["State"]> {
    const log = new ContainerLog(onOutput);
    using over = new DisposableStack();
    const leaving = new AbortController();
    over.defer(() => leaving.abort());
    const ended = container.wait({ abortSignal: leaving.signal }).catch(() => undefined);
    for (;;) {
      const read = log.read(container);
      // A container engine that is killed may leave the wait request open forever, but not the log stream.
      await Promise.race([ended, read]);
      const { State } = await container.inspect();
      if (!State.Running && !State.Paused) {
        await log.drain(read, LOG_DRAIN_MS);
        await log.end();
        return State;
      }
      await read;
      await sleep(RETRY_MS);
    }
  }
}
