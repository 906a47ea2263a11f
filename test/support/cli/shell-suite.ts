/** `portside shell` on a platform with one of the runners: what the shell can see and what it cannot reach. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findExecTargets } from "../../../adapters/local/containers/exec-targets.ts";
import type { DeployEvent } from "../../../core/domain/deploy/events.ts";
import { tarGz } from "../archives/archives.ts";
import { folderWith } from "../archives/folders.ts";
import { Client, type Served, serve } from "../http/served.ts";
import { has, type Need, needs } from "../vitest/machine.ts";

const main = join(import.meta.dirname, "..", "..", "..", "hosts", "cli", "main.ts");

/** The code of a server for Node. */
export const server = `require("node:http").createServer((_, response) => response.end("hi")).listen(process.env.PORT);`;

/** The name of its deployment. */
export const DEPLOYED = "entered";

/** Without a Dockerfile. */
export const plainSource = tarGz([
  { path: "package.json", content: JSON.stringify({ scripts: { start: "node server.js" } }) },
  { path: "server.js", content: server },
  { path: "mark", content: "" },
]);

const last = async (records: AsyncIterable<DeployEvent>): Promise<DeployEvent | undefined> =>
  (await Array.fromAsync(records)).at(-1);

/**
 * @param kind how the service runs, for the suite's name
 * @param options of the server
 * @param source answers at `/`, and has a file `mark`
 * @param lacks the requirement without which the tests are skipped
 */
export const shellTests = (
  kind: string,
  options: Readonly<Record<string, string>>,
  source: Uint8Array,
  lacks?: Need,
): void => {
  describe(`a service by ${kind}`, () => {
    const folder = folderWith();
    const dataDir = join(folder.path, "data");
    let served: Served;
    let client: Client;
    beforeAll(async () => {
      if (lacks !== undefined && !has(lacks)) return;
      mkdirSync(dataDir);
      served = await serve(dataDir, options);
      client = new Client(served.url, served.apiKey as string);
      expect(await last(client.deploy(DEPLOYED, source, { "/data": "mine" }))).toMatchObject({ status: "DONE" });
    });
    beforeEach((context) => {
      if (lacks !== undefined) needs(context, lacks);
    });
    afterAll(async () => {
      if (served?.child.exitCode === null) {
        served.child.kill("SIGTERM");
        await once(served.child, "exit");
      }
      folder[Symbol.dispose]();
    });

    const shell = (name: string, script: string) => {
      const env = {
        PATH: process.env["PATH"],
        HOME: folder.path,
        PORTSIDE_DATA_DIR: dataDir,
        SECRET_OF_WHO_ENTERS: "x",
      };
      const ran = spawnSync(process.execPath, [main, "shell", name], { input: script, env, encoding: "utf8" });
      return { code: ran.status, stdout: ran.stdout.trim(), stderr: ran.stderr };
    };

    if (kind === "bubblewrap" && process.getuid?.() !== 0) {
      test("only root may enter a sandbox that a user has created, and the error explains it", () => {
        const { code, stdout, stderr } = shell(DEPLOYED, "ls mark");
        expect([code, stdout]).toEqual([1, ""]);
        expect(stderr).toContain("Run the command with sudo and --data-dir.");
      });
      return;
    }

    test("a shell starts in the service's folder, with its files and variables only", () => {
      const { code, stdout, stderr } = shell(
        DEPLOYED,
        "ls mark; echo $K_SERVICE $PORT; env | grep -c SECRET_OF_WHO_ENTERS; exit 7",
      );
      expect(stderr).toContain(`Entering '${DEPLOYED}' (${kind})`);
      const [mark, entered, secrets] = stdout.split("\n");
      expect([mark, secrets]).toEqual(["mark", "0"]);
      expect(entered).toMatch(/^entered \d+$/);
      expect(code).toBe(7);
    });

    if (kind === "bubblewrap") {
      test("a shell has the service's user, namespaces, filter and control groups, and no further rights", () => {
        // Process 1 is bubblewrap's; the service is its first child.
        const script = `show() {
  grep -E '^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp)' $1/status
  for one in cgroup ipc net pid user uts; do readlink $1/ns/$one; done
  cat $1/cgroup
}
show /proc/2; echo ---; show /proc/self; echo ---; ls -l /proc/self/fd; grep Seccomp: /proc/self/status`;
        const { stdout } = shell(DEPLOYED, script);
        const [ofService, ofShell, rest] = stdout.split("---\n");
        expect(ofService).toContain("CapEff:\t0000000000000000");
        expect(ofShell).toBe(ofService);
        expect(rest).toContain("Seccomp:\t2");
        expect(rest).not.toContain("user:[");
      });

      test("a root shell does not inherit the service's environment, which could load the service's libraries", async () => {
        const { found } = await findExecTargets(DEPLOYED, { dataDir, environment: {}, isTerminal: false });
        expect(found.map(({ env = {} }) => Object.keys(env))).toEqual([["PATH"]]);
      });
    }

    test("rejects a process that only claims to be an instance", async () => {
      const env = { K_SERVICE: DEPLOYED, PORTSIDE_INSTANCE: "made.up" };
      const other = spawn("sleep", ["1000"], { cwd: "/", stdio: "ignore", env: { ...env, PATH: process.env["PATH"] } });
      await once(other, "spawn");
      const { stdout, stderr } = shell(DEPLOYED, "ls mark");
      other.kill("SIGKILL");
      expect(stdout).toBe("mark");
      expect(stderr).not.toContain("one of");
    });

    test("reports unknown and misspelt names", () => {
      const { code, stderr } = shell("entred", "");
      expect(code).toBe(1);
      expect(stderr).toContain(
        `The deployment 'entred' does not exist on this machine. Running deployments: ${DEPLOYED}.`,
      );
    });
  });
};
