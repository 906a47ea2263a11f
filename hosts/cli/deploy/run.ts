/** `portside run`: runs a local platform in this process, for one folder. */

import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { basename, dirname, join } from "node:path";
import { describeListenError, listenAt, listenOnLoopbacks } from "../../../adapters/shared/runtime/loopback.ts";
import type { ControlPlane } from "../../../core/control-plane.ts";
import { type AccountId, type Principal, parseAccount } from "../../../core/domain/accounts/account.ts";
import { archiveLimits } from "../../../core/domain/accounts/limits.ts";
import { PROJECT_FILE } from "../../../core/domain/deploy/source/packing.ts";
import { option } from "../arguments.ts";
import type { Command, Input } from "../command.ts";
import { followLog, LOG_PAGE } from "../logs/follow.ts";
import { printRow } from "../logs/print.ts";
import { paint } from "../terminal/colour.ts";
import { CommandError, cannotStart, type Io, print, say, UsageError } from "../terminal/io.ts";
import { sayError } from "../terminal/safe-text.ts";
import { packFolder } from "./pack.ts";
import { recordPrinter } from "./progress.ts";
import { type Deployable, envOptions, projectArguments, readDeployable, requestOf } from "./project.ts";
import { type SourceFolder, sourceFolders } from "./source-files.ts";
import { SourceWatch } from "./source-watch.ts";

const STATE = ".portside";

const principal: Principal = { account: parseAccount("local") as AccountId, credentialId: "run" };

/** Packs and deploys the folder's current content. If that fails, the previous revision keeps running. */
const deployOnce = async (io: Io, controlPlane: ControlPlane, deployable: Deployable): Promise<string | undefined> => {
  await using packed = await packFolder(deployable.folder, archiveLimits.fileBytes);
  const received = await controlPlane.receiveSource(principal, packed.open());
  if (received.isErr()) throw new CommandError(received.error.message);
  const declaration = { fields: requestOf(deployable), archive: received.value };
  const run = await controlPlane.deploy(principal, declaration);
  if (run.isErr()) throw new CommandError(run.error.message);
  let url: string | undefined;
  const printRecord = recordPrinter(io);
  for await (const record of run.value.follow(0, io.signal)) {
    printRecord(record);
    url = record.url;
  }
  return url;
};

const fileIn = (path: string): SourceFolder => ({
  path: dirname(path),
  isRelevant: (name) => name === basename(path),
});

const follow = async (io: Io, controlPlane: ControlPlane, name: string): Promise<void> => {
  const read = async (since: string | undefined) => {
    const page = await controlPlane.readLogs(principal, { deployment_name: name, limit: LOG_PAGE, since });
    return page.isOk() ? page.value : undefined;
  };
  for await (const row of followLog(read, { since: undefined, signal: io.signal })) printRow(io, row);
};

/** Fails if another program uses the port, on IPv4 or IPv6. */
const checkFree = async (port: number): Promise<void> => {
  const server = createServer();
  const listening = await listenOnLoopbacks(
    "127.0.0.1",
    port,
    (host, free) => listenAt(server, host, free),
    (socket) => socket.destroy(),
  ).catch((error: unknown) => {
    throw new CommandError(describeListenError(error, { port, purpose: "service", setting: "--port" }));
  });
  await listening.close();
  await new Promise((closed) => server.close(closed));
};

const readPort = async (text: string | undefined): Promise<number | undefined> => {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65_535)
    throw new UsageError(`--port must be a number from 1 to 65535, not '${text}'.`);
  await checkFree(port);
  return port;
};

const run = async (input: Input, io: Io): Promise<number> => {
  const project = projectArguments(input, io);
  const { folder, envFile } = project;
  const first = readDeployable(project);
  const port = await readPort(input.text("port"));
  const state = join(folder, STATE);
  try {
    mkdirSync(state, { recursive: true, mode: 0o700 });
    writeFileSync(join(state, ".gitignore"), "*\n");
  } catch (error) {
    throw new CommandError(
      `Cannot write to ${state}: ${(error as Error).message}. Make it a writable folder, or delete it.`,
      { cause: error },
    );
  }
  const { buildRunPlatform } = await import("../../composition/run-platform.ts");
  const platform = await buildRunPlatform({
    dataDir: state,
    principal,
    env: io.env,
    servicePorts: port === undefined ? {} : { [first.name]: port },
  }).catch(cannotStart);
  const { controlPlane } = platform;
  let latest: Deployable = first;
  let again = false;
  let busy = false;
  const deployNow = async (): Promise<void> => {
    again = true;
    if (busy) return;
    busy = true;
    while (again && !io.signal.aborted) {
      again = false;
      try {
        const url = await deployOnce(io, controlPlane, latest);
        if (url !== undefined)
          print(io, `\n${paint(io, "green", url)}  (redeploys when a file changes; stop with Ctrl-C)\n`);
      } catch (error) {
        sayError(io, (error as Error).message);
      }
    }
    busy = false;
  };
  try {
    const source = new SourceWatch({
      list: async () => {
        latest = { ...readDeployable(project), name: first.name };
        const files = [join(folder, PROJECT_FILE), ...(envFile === undefined ? [] : [envFile])];
        return [...(await sourceFolders(latest.folder)), ...files.map(fileIn)];
      },
      changed: () => void deployNow(),
      failed: (message) => sayError(io, message),
      signal: io.signal,
    });
    if (await source.update()) await deployNow();
    await follow(io, controlPlane, first.name);
  } finally {
    say(io, "Stopping…");
    await platform.close();
  }
  return 0;
};

export const command: Command = {
  usage: "run [DIR] [--port N]",
  options: {
    port: option("N", "Set the service's port (default: any free port)", { short: "p" }),
    ...envOptions,
  },
  positionals: { min: 0, max: 1 },
  examples: ["run hello --port 3000"],
  notes: [
    "Needs no server and no API key. Stores its data in DIR/.portside. When it stops, it keeps the volumes and the state,",
    "which contains the names of the volumes, and deletes the other data.",
  ],
  run,
};
