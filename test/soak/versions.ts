/**
 * `npm run soak -- versions [--from COMMIT]`: an earlier version (the newest tag) and this one work together. Installs
 * the package of the other version over the running one, in both directions. Each time it restarts the server, so that
 * the old engine works with the new server, and then runs `portside upgrade`. If the data folder's new format prevents
 * a downgrade, services must continue without a server until the newer version is installed again. Fails if a request
 * or a deploy fails, or if a line of the log is lost.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { nodeSource } from "../support/archives/archives.ts";
import { serverOf } from "../support/http/serve-child.ts";
import { Client } from "../support/http/served.ts";
import { numberedLines } from "../support/logs/all-messages.ts";

const repository = join(import.meta.dirname, "..", "..");
const run = (cwd: string, command: string, ...args: string[]): string =>
  execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"], maxBuffer: 2 ** 26 });

const newestTag = (): string => {
  try {
    return run(repository, "git", "describe", "--tags", "--abbrev=0").trim();
  } catch (cause) {
    throw new Error("There is no tag yet. Name an earlier version: npm run soak -- versions --from COMMIT", { cause });
  }
};

const { values } = parseArgs({ options: { from: { type: "string", default: "" } } });
const from = values.from === "" ? newestTag() : values.from;
const work = await mkdtemp(join(tmpdir(), "portside-versions-"));

/** Builds and packs a commit. Returns the path of the package. */
const packed = async (commit: string): Promise<string> => {
  const folder = join(work, commit.replaceAll("/", "-"));
  await mkdir(folder);
  execFileSync("sh", ["-c", 'git archive "$0" | tar -x -C "$1"', commit, folder], { cwd: repository });
  run(folder, "npm", "ci", "--no-audit", "--no-fund");
  run(folder, "npm", "run", "-s", "build");
  run(folder, "npm", "pack", "--silent");
  const name = (await readdir(folder)).find((one) => one.endsWith(".tgz")) as string;
  return join(folder, name);
};

/** Logs numbered lines, and responds with the body of the request. */
const source = nodeSource(`
import { createServer } from "node:http";
createServer((request, response) => request.pipe(response)).listen(process.env.PORT);
let n = 0;
setInterval(() => console.log("n " + process.pid + " " + n++), 5);
`);

const program = join(work, "node_modules", "portside", "dist", "hosts", "cli", "main.js");
const dataDir = join(work, "data");
const environment = { ...process.env, HOME: work };

const serve = async (): Promise<{ readonly child: ChildProcess; readonly client: Client }> => {
  const args = [program, "serve", "--json", "--data-dir", dataDir, "--port", "0", "--ingress-port", "0"];
  const options = ["--runner", "process", "--drain-seconds", "3", "--grace-seconds", "2", "--log-level", "warn"];
  const child = spawn(process.execPath, [...args, ...options], {
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
    process.stderr.write(text);
  });
  const [line] = (await once(createInterface({ input: child.stdout as Readable }), "line")) as [string];
  const { url, api_key: key } = JSON.parse(line) as { url: string; api_key: string };
  return { child, client: new Client(url, key) };
};

/** The output of the engine and the server on stderr. */
let errors = "";
const failures: string[] = [];
let requests = 0;

const deploy = async (client: Client, name: string): Promise<string> => {
  const last = (await Array.fromAsync(client.deploy(name, source))).at(-1);
  if (last?.status !== "DONE") throw new Error(`the deploy of ${name} ended with ${JSON.stringify(last)}`);
  return last.url as string;
};

/** Repeats a request until `over`. */
const request = async (url: string, over: AbortSignal): Promise<void> => {
  while (!over.aborted) {
    try {
      const body = `request ${requests++}`;
      const response = await fetch(url, { method: "POST", body });
      const text = await response.text();
      if (response.status !== 200 || text !== body) throw new Error(`${response.status} ${text.slice(0, 200)}`);
    } catch (cause) {
      failures.push(String(cause));
    }
    await sleep(20);
  }
};

/** Waits until `work` succeeds, because the API has no server for a moment. */
const eventually = async <T>(work: () => Promise<T>): Promise<T> => {
  for (const end = Date.now() + 60_000; ; await sleep(100)) {
    try {
      return await work();
    } catch (cause) {
      if (Date.now() > end) throw cause;
    }
  }
};

let engine: number | undefined;
try {
  const packages = { [from]: await packed(from), HEAD: await packed("HEAD") };
  const install = (version: string): void => {
    run(work, "npm", "install", "--silent", "--no-audit", "--no-fund", "--no-save", packages[version] as string);
  };
  install(from);
  const { child, client } = await serve();
  engine = child.pid as number;
  const url = await deploy(client, "app");
  const over = new AbortController();
  const loops = Array.from({ length: 8 }, () => request(url, over.signal));
  for (const version of ["HEAD", from]) {
    install(version);
    const server = serverOf(engine) as number;
    process.kill(server, "SIGTERM");
    const isRefused = await eventually(async () => {
      if (version === from && /has format \d+, but this Portside reads/.test(errors)) return true;
      if (serverOf(engine as number) === server) throw new Error("the server still runs");
      await client.list();
      return false;
    });
    if (isRefused) {
      console.log(`the server of ${version} refuses the newer format`);
      await sleep(5000);
      install("HEAD");
      await eventually(() => client.list());
      await deploy(client, "mixed");
      console.log("the newer version continues");
      break;
    }
    await deploy(client, "mixed");
    console.log(`the server of ${version} works with the engine of the other version`);
    const told = run(work, process.execPath, program, "upgrade", "--json", "--data-dir", dataDir);
    engine = (JSON.parse(told) as { pid: number }).pid;
    await eventually(() => client.list());
    await deploy(client, "upgraded");
    console.log(`the engine was upgraded to ${version}`);
  }
  over.abort();
  await Promise.all(loops);
  const instances = [...(await numberedLines(client)).values()];
  if (instances.length < 2) failures.push(`${instances.length} instances have logged lines`);
  for (const lines of instances)
    if (lines.some((n, index) => n !== index)) failures.push(`an instance's lines are not complete: ${lines}`);
  console.log(`${requests} requests, ${failures.length} failures`);
  for (const failure of failures.slice(0, 100)) console.log(failure);
  if (failures.length > 0) process.exitCode = 1;
} finally {
  if (engine !== undefined) process.kill(engine, "SIGTERM");
  await eventually(() => rm(work, { recursive: true }));
}
