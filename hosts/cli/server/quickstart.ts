/**
 * `npm run quickstart`: starts a platform in a temporary folder, deploys a service through the real API, and shows its
 * response and further commands. With `--once`, it then exits; otherwise it runs until Ctrl-C.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { resolveSettings } from "../../composition/settings.ts";
import { runProgram } from "../program.ts";
import { type Io, print } from "../terminal/io.ts";
import { waitForStop } from "./serve.ts";
import { startServing } from "./serving.ts";

const EXAMPLE = fileURLToPath(new URL("../../../examples/hello", import.meta.url));

const quickstart = async (io: Io, once: boolean): Promise<number> => {
  const dataDir = await mkdtemp(join(tmpdir(), "portside-quickstart-"));
  const flags = { dataDir, port: "0", ingressPort: "0", logLevel: "error" };
  print(io, "Starting the platform on this machine…");
  const serving = await startServing(resolveSettings(flags, {}));
  const { url, apiKey = "", capabilities } = serving;
  const env = { ...io.env, PORTSIDE_URL: url, PORTSIDE_API_KEY: apiKey };
  try {
    print(io, `Portside is ready at ${url} (${capabilities.runner}).`);
    print(io, "\n$ portside deploy examples/hello");
    const code = await runProgram(["deploy", EXAMPLE], { ...io, env });
    if (code !== 0) return code;
    const listed = await fetch(`${url}/v1/deployment/list`, { headers: { "x-api-key": apiKey } });
    const [deployment] = (await listed.json()) as [{ url: string }];
    print(io, `\n$ curl ${deployment.url}`);
    print(io, (await (await fetch(deployment.url)).text()).trimEnd());
    if (once) return 0;
    print(io, `\nNext, in another terminal in this folder:`);
    print(io, `  export PORTSIDE_URL=${url} PORTSIDE_API_KEY=${apiKey}`);
    print(io, "  npm run -s portside -- list");
    print(io, "  npm run -s portside -- logs hello");
    print(io, "  npm run -s portside -- init my-app && npm run -s portside -- deploy my-app");
    print(io, "  npm run -s portside -- console");
    print(io, `\nThe last command signs in to the console at ${url}/console/. The API is documented at ${url}/docs.`);
    print(io, "\nCtrl-C stops the platform and deletes its data.");
    await waitForStop(io.signal);
    return 0;
  } finally {
    await serving.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
};

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stop.abort());

process.exitCode = await quickstart(
  {
    stdout: process.stdout,
    stderr: process.stderr,
    stdin: process.stdin,
    env: process.env,
    cwd: process.cwd(),
    signal: stop.signal,
  },
  process.argv.includes("--once"),
);
