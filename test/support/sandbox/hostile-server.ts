/**
 * The local engine in a child process, so that a test can see whether it survives. `startHostileServer` forks this
 * file.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createControlPlane } from "../../../core/control-plane.ts";
import type { DeployEvent } from "../../../core/domain/deploy/events.ts";
import { deployThrough, principalOf, type runners, startLocalIn } from "../providers/local-platform.ts";

export interface DeployOrder {
  readonly account: string;
  readonly source: Uint8Array;
  readonly fields: Readonly<Record<string, unknown>>;
  /** Milliseconds after which the build is aborted. */
  readonly deadline: number;
}

type Question =
  | { readonly ask: "deploy"; readonly order: DeployOrder }
  | { readonly ask: "delete"; readonly account: string; readonly name: string }
  | { readonly ask: "logs"; readonly account: string; readonly name: string };

const answerTo = async (
  { local, controlPlane }: Awaited<ReturnType<typeof startLocalIn>>,
  question: Question,
): Promise<unknown> => {
  if (question.ask === "deploy") {
    const { source, fields, account, deadline } = question.order;
    const own = createControlPlane(local.ports, { deployLimits: { buildDeadlineMs: deadline } });
    return (await deployThrough(own)(source, fields, account)).at(-1);
  }
  const principal = principalOf(question.account);
  if (question.ask === "delete")
    return (await controlPlane.deleteDeployment(principal, { name: question.name })).isOk();
  const page = await controlPlane.readLogs(principal, { deployment_name: question.name });
  return page.isOk() ? page.value.logs.map(({ message }) => message).join("\n") : "";
};

if (process.send !== undefined && process.argv[1] === fileURLToPath(import.meta.url)) {
  const [dataDir = "", runner = "process"] = process.argv.slice(2);
  const config = { runner: runner as (typeof runners)[number], graceSeconds: 1, drainSeconds: 1 };
  const platform = await startLocalIn(dataDir, config);
  process.on("message", async ({ id, question }: { readonly id: number; readonly question: Question | "end" }) => {
    if (question !== "end") return process.send?.({ id, answer: await answerTo(platform, question) });
    await platform[Symbol.asyncDispose]();
    process.exit(0);
  });
  process.send({ id: 0 });
}

export interface HostileServer {
  deploy(order: DeployOrder): Promise<DeployEvent>;
  remove(account: string, name: string): Promise<boolean>;
  logs(account: string, name: string): Promise<string>;
  kill(): Promise<void>;
  end(): Promise<void>;
}

/** @param registry the npm registry for the builds */
export const startHostileServer = async (dataDir: string, runner: string, registry: string): Promise<HostileServer> => {
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), [dataDir, runner], {
    execArgv: [],
    env: { ...process.env, npm_config_registry: registry },
    stdio: ["ignore", "inherit", "pipe", "ipc"],
    serialization: "advanced",
  });
  let printed = "";
  child.stderr?.on("data", (chunk) => {
    printed += chunk;
  });
  const exited = once(child, "exit");
  const waiting = new Map<number, (answer: unknown) => void>();
  const ended = exited.then(() => Promise.reject(new Error(`the server ended: ${printed}`)));
  ended.catch(() => undefined);
  child.on("message", ({ id, answer }: { readonly id: number; readonly answer: unknown }) => waiting.get(id)?.(answer));
  let asked = 0;
  const answerOf = (id: number): Promise<unknown> =>
    Promise.race([new Promise((resolve) => waiting.set(id, resolve)), ended]);
  const ask = (question: Question): Promise<unknown> => {
    const answer = answerOf(++asked);
    child.send({ id: asked, question });
    return answer;
  };
  await answerOf(0);
  return {
    deploy: async (order) => (await ask({ ask: "deploy", order })) as DeployEvent,
    remove: async (account, name) => (await ask({ ask: "delete", account, name })) as boolean,
    logs: async (account, name) => (await ask({ ask: "logs", account, name })) as string,
    kill: async () => {
      child.kill("SIGKILL");
      await exited;
    },
    end: async () => {
      child.send({ id: -1, question: "end" });
      await exited;
    },
  };
};
