/**
 * A cloud's packages load only when used: importing its adapter loads none; client commands do not load the adapter.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);

/** Returns every module that a program loads, recorded by a hook that is registered before the program starts. */
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

/** @param packages prefixes of the cloud's package folders */
export const importTests = (cloud: string, packages: readonly string[]): void => {
  const adapter = `/adapters/${cloud}/`;
  const foreign = (url: string): boolean => packages.some((name) => url.includes(`/node_modules/${name}`));

  test(`importing the adapter ${cloud} loads none of its packages`, async () => {
    const loaded = await loadedBy(`adapters/${cloud}/index.ts`);
    expect(loaded.some((url) => url.includes(`${adapter}provider.ts`))).toBe(true);
    expect(loaded.filter(foreign)).toEqual([]);
  });

  test.each(["list", "logs", "deploy", "volume", "sql", "cost", "version"])(
    `portside %s does not load the adapter ${cloud}`,
    async (command) => {
      const loaded = await loadedBy("hosts/cli/main.ts", [command, "--help"]);
      expect(loaded.some((url) => url.includes("/hosts/cli/"))).toBe(true);
      expect(loaded.filter((url) => foreign(url) || url.includes(adapter))).toEqual([]);
    },
  );

  test(`a command that calls the platform's API does not load the adapter ${cloud}`, async () => {
    const loaded = await loadedBy("hosts/cli/main.ts", ["list"]);
    expect(loaded.some((url) => url.includes("/hosts/cli/"))).toBe(true);
    expect(loaded.filter((url) => foreign(url) || url.includes(adapter))).toEqual([]);
  });
};
