/** Three engines of one data folder, which hand the lease to each other, and the relay through which they connect. */
import { join } from "node:path";
import { folderWith } from "../archives/folders.ts";
import { type LeasedEngine, type LeasedEngineOptions, openLeasedEngine } from "./leased-engine.ts";
import { openRelay, type Relay } from "./relay.ts";

export const ENGINES = 3;

export class LeasedEngines implements AsyncDisposable {
  readonly all: readonly LeasedEngine[];
  readonly relay: Relay;
  readonly dataDir: string;
  readonly #dispose: () => Promise<void>;
  /** The index of the engine that holds the lease. */
  holder = 0;

  private constructor(all: readonly LeasedEngine[], relay: Relay, dataDir: string, dispose: () => Promise<void>) {
    this.all = all;
    this.relay = relay;
    this.dataDir = dataDir;
    this.#dispose = dispose;
  }

  static async open(options: Omit<LeasedEngineOptions, "dataDir" | "number">): Promise<LeasedEngines> {
    await using stack = new AsyncDisposableStack();
    const { path: dataDir } = stack.use(folderWith());
    const relay = stack.use(await openRelay(join(dataDir, "relay.sock")));
    const numbers = Array.from({ length: ENGINES }, (_, number) => number);
    const all = await Promise.all(numbers.map((number) => openLeasedEngine({ ...options, dataDir, number })));
    const kept = stack.move();
    const engines = new LeasedEngines(all, relay, dataDir, () => kept.disposeAsync());
    all[0]?.take();
    relay.target = all[0]?.socket;
    for (const one of engines.others) one.lease.forwardTo(relay.path);
    return engines;
  }

  /** The engines without the lease. */
  get others(): readonly LeasedEngine[] {
    return this.all.filter((_, at) => at !== this.holder);
  }

  /** Moves the lease. */
  async move(to: number, meanwhile: () => Promise<void>): Promise<void> {
    const { all, relay } = this;
    const [last, next] = [all[this.holder] as LeasedEngine, all[to] as LeasedEngine];
    relay.target = undefined;
    const handover = await last.lease.release();
    await meanwhile();
    next.take(JSON.parse(JSON.stringify(handover)));
    this.holder = to;
    relay.target = next.socket;
    relay.cut();
    last.lease.forwardTo(relay.path);
  }

  /** Ends the engines, the holder last. */
  async close(): Promise<void> {
    await Promise.all(this.others.map((one) => one.close()));
    await this.all[this.holder]?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#dispose();
  }
}
