/** Google's packages cost nothing to whoever does not use them: importing the adapter loads none, a client command not even that. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);

/** Every module that a program loads, asked by a hook before its first line. */
const loadedBy = async (program: string, args: readonly string[] = []): Promise<string[]> => {
  const hook = `
    import { registerHooks } from "node:module";
    registerHooks({ load: (url, context, next) => { process.stderr.write("\\0" + url + "\\n"); return next(url, context); } });`;
  const preload = `data:text/javascript,${encodeURIComponent(hook)}`;
  const { stderr } = await run(process.execPath, ["--import", preload, program, ...args], {
    env: { ...process.env, PORTSIDE_URL: "http://127.0.0.1:9", PORTSIDE_API_KEY: "psk_x", NODE_OPTIONS: "" },
  }).catch((error: { stderr: string }) => error);
  return stderr
    .split("\n")
    .filter((line) => line.startsWith("\0"))
    .map((line) => line.slice(1));
};

const google = /\/node_modules\/(?:@google-cloud|google-auth-library|google-gax|@grpc|protobufjs)\//;

test("importing the adapter loads none of Google's packages", async () => {
  const loaded = await loadedBy("adapters/gcp/index.ts");
  expect(loaded.some((url) => url.includes("/adapters/gcp/provider.ts"))).toBe(true);
  expect(loaded.filter((url) => google.test(url))).toEqual([]);
});

test.each(["list", "logs", "deploy", "volume", "sql", "cost", "version"])(
  "portside %s does not load the adapter",
  async (command) => {
    const loaded = await loadedBy("hosts/cli/main.ts", [command, "--help"]);
    expect(loaded.some((url) => url.includes("/hosts/cli/"))).toBe(true);
    expect(loaded.filter((url) => google.test(url) || url.includes("/adapters/gcp/"))).toEqual([]);
  },
);

test("a command that asks the platform does not, either", async () => {
  const loaded = await loadedBy("hosts/cli/main.ts", ["list"]);
  expect(loaded.filter((url) => google.test(url) || url.includes("/adapters/gcp/"))).toEqual([]);
});
