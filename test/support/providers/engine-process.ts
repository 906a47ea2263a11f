/** An engine in a separate process. Runs commands that its parent sends over IPC. */
import { type EngineDeps, openSuccessor, startEngine } from "../../../adapters/local/engine/start-engine.ts";
import { silentLogger } from "../logs/silent-logger.ts";

const [dataDir, runner, running] = process.argv.slice(2) as [string, "bubblewrap" | "process", string?];
const config = { dataDir, runner, ingressPort: 0, drainSeconds: 1, graceSeconds: 1 };
const deps: EngineDeps = { logger: silentLogger, environment: { ...process.env, DOCKER_HOST: "unix:///none" } };

type Commands = Readonly<Record<string, (input: never) => Promise<unknown>>>;

const first = async (): Promise<Commands> => {
  const engine = await startEngine(config, deps);
  // The first request starts an instance.
  for (const { port, use } of engine.describe().ports)
    if (use.kind === "service") await (await fetch(`http://127.0.0.1:${port}`)).text();
  return {
    describe: async () => engine.describe(),
    release: () => engine.release(),
    close: async () => engine[Symbol.asyncDispose](),
  };
};

const successor = async (described: string): Promise<Commands> => {
  const opened = await openSuccessor(config, deps, JSON.parse(described));
  let engine: AsyncDisposable = opened;
  return {
    lead: async (handover) => {
      engine = await opened.lead(handover);
    },
    close: async () => engine[Symbol.asyncDispose](),
  };
};

const commands = await (running === undefined ? first() : successor(running));
process.on("message", async ([name, input]: [string, never]) => {
  const result = await commands[name]?.(input);
  process.send?.(result ?? "done");
  if (name === "close") process.disconnect();
});
process.send?.("ready");
