/** A hostile service sees nothing of its neighbours on runners that isolate files, processes and environments. */
import { readdirSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ExecResult, execIn } from "../providers/exec-service.ts";
import { type LocalOptions, startLocal, type TestPlatform } from "../providers/local-platform.ts";
import { has, type Need, needs } from "../vitest/machine.ts";

export interface Inside {
  readonly platform: TestPlatform;
  /** The URL of the hostile service. */
  readonly url: string;
  /** The URL of a service of another account. */
  readonly neighbour: string;
  run(script: string): Promise<ExecResult>;
}

/**
 * Prints the kernel files that can be opened for writing. A server that is root runs services as the folder's owner.
 */
const openable = `
const fs = require("node:fs");
const walk = (folder, depth) => {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const path = folder + "/" + entry.name;
    try {
      if (entry.isDirectory() && depth < 6 && !/^[0-9]+$/.test(entry.name)) walk(path, depth + 1);
      const status = entry.isFile() ? fs.statSync(path) : undefined;
      if (status?.isFile() !== true || (status.mode & 0o222) === 0) continue;
      fs.closeSync(fs.openSync(path, "r+"));
      console.log(path);
    } catch {}
  }
};
walk("/proc", 0);
`;
/** Writing these requires a capability, or affects only the caller. */
const harmless = /^\/proc\/(?:mtrr|pressure\/)/;

/**
 * @param source of an exec service
 * @returns a function that returns the running services, for further tests
 */
export const hostileTests = (options: LocalOptions, source: Uint8Array, lacks: Need): (() => Inside) => {
  let inside: Inside;
  beforeAll(async () => {
    if (!has(lacks)) return;
    const platform = await startLocal(options);
    const theirs = { function_name: "neighbour", volumes: { "/data": "secrets" }, env: { SECRET: "theirs-4711" } };
    const neighbour = await platform.up(source, theirs, "other");
    await execIn(neighbour, "echo theirs > /data/file && echo theirs > /tmp/file");
    const url = await platform.up(source, { volumes: { "/data": "mine" } });
    inside = { platform, url, neighbour, run: (script) => execIn(url, script) };
  });
  afterAll(async () => {
    await inside?.platform[Symbol.asyncDispose]();
  });

  test("sees no file of the platform or of a neighbour, and no volume except its own", async (context) => {
    needs(context, lacks);
    const { platform, run } = inside;
    const found = await run(
      `cat /data/file /tmp/file; ls ${platform.dataDir} /root/.portside /var/run/docker.sock /run/docker.sock`,
    );
    expect(found.out).toBe("");
    expect(readdirSync(platform.dataDir)).toContain("storage");
    // A symbolic link of the service resolves only within its own sandbox.
    expect((await run(`ln -sfn ${platform.dataDir} /data/link && ls /data/link/`)).code).not.toBe(0);
    expect((await run("cat /proc/1/root/data/file")).out).toBe("");
  });

  test("sees only its own processes and environment", async (context) => {
    needs(context, lacks);
    const { out } = await inside.run("cat /proc/[0-9]*/environ | tr '\\0' '\\n'; ls -d /proc/[0-9]* | wc -l");
    expect(out).not.toContain("theirs-4711");
    expect(Number(out.split("\n").at(-1))).toBeLessThan(12);
    expect((await inside.run("cat /proc/self/status")).out).toMatch(/^NoNewPrivs:\s+1$/m);
  });

  test("cannot change anything outside of its sandbox, and gains no rights", async (context) => {
    needs(context, lacks);
    const { run } = inside;
    expect((await run("mount -t tmpfs none /mnt")).code).not.toBe(0);
    expect((await run("mknod /tmp/disk b 8 0")).code).not.toBe(0);
    const opened = (await run(`node -e '${openable}'`)).out.split("\n");
    expect(opened.filter((path) => path !== "" && !harmless.test(path))).toEqual([]);
    // Writes the current value, in case it succeeds.
    expect((await run("panic=$(cat /proc/sys/kernel/panic) && echo $panic > /proc/sys/kernel/panic")).code).not.toBe(0);
  });

  return () => inside;
};
