/** A process with a runner in a scope that another process may share. Runs commands that its parent sends over IPC. */
import { spawn } from "node:child_process";
import { chooseRunner, type RunnerChoice } from "../../../adapters/local/sandbox/choose-runner.ts";
import { MARKER, type Running } from "../../../adapters/local/sandbox/runner.ts";
import { joinScope, type Scope, takeScope } from "../../../adapters/local/sandbox/scope.ts";
import { silentLogger } from "../logs/silent-logger.ts";

const [role, scopeName, kind, folder] = process.argv.slice(2) as [string, string, RunnerChoice, string];

let ownsScope = role === "first";
let endOthers: () => Promise<void>;
const open = async (): Promise<Scope> => {
  if (ownsScope) return takeScope({ get: () => scopeName, set: () => undefined }, folder, silentLogger);
  const scope = await joinScope(scopeName, folder, silentLogger);
  scope.whenAlone(async () => {
    await ready.promise;
    ownsScope = true;
    await endOthers();
    alone.resolve();
  });
  return scope;
};
const alone = Promise.withResolvers<void>();
const ready = Promise.withResolvers<void>();
const scope = await open();
const chosen = await chooseRunner(kind, {
  scope: scopeName,
  imageScope: scopeName,
  folder,
  uidRange: { from: 2_100_000_000, to: 2_100_000_009 },
  environment: process.env,
  logger: silentLogger,
  allowedPorts: [],
  ownsScope: () => ownsScope,
});
endOthers = chosen.endOthers;
ready.resolve();

const jobs: Running[] = [];
const SERVER = "import socket, time; s = socket.create_server(('', 8080)); print('up', flush=True); time.sleep(600)";

const commands: Readonly<Record<string, () => Promise<unknown>>> = {
  /**
   * Starts a job whose process would outlive this one, unless the runner ends it. The job does not fork, because other
   * tests of the same user may use up the user's processes.
   */
  start: () =>
    new Promise((resolve) => {
      const job = chosen.runner.start(
        {
          id: `${chosen.mark}.${jobs.length}`,
          argv: kind === "bubblewrap" ? ["python3", "-c", SERVER] : ["sh", "-c", "echo up; exec sleep 600"],
          cwd: kind === "process" ? folder : "/tmp",
          env: { PATH: "/usr/bin:/bin" },
          binds: [],
          ...(kind === "bubblewrap" ? { port: 8080 } : {}),
          limits: { memory: 64 * 1024 ** 2, cpu: 1, processes: 20 },
        },
        () => {
          resolve(undefined);
          return undefined;
        },
      );
      jobs.push(job);
      void job.exited.then((exit) => resolve(exit));
    }),
  /** Starts a process that has left its control group, so that only its marker identifies its scope. */
  escape: async () =>
    spawn("sleep", ["600"], { env: { [MARKER]: `${chosen.mark}.escaped` }, detached: true, stdio: "ignore" }).unref(),
  alone: () => alone.promise,
  close: async () => {
    for (const job of jobs) job.kill();
    await Promise.all(jobs.map((job) => job.exited));
    await chosen.close();
    await scope.release();
  },
};
process.on("message", async (name: string) => {
  process.send?.({ [name]: (await commands[name]?.()) ?? "done" });
  if (name === "close") process.disconnect();
});
process.send?.({ mark: chosen.mark });
