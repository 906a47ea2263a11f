/** The environment of a service, and what it can find out about the machine. */
import { readFileSync } from "node:fs";
import { afterEach, describe, expect, test, vi } from "vitest";
import { nodeSource } from "../../../support/archives/archives.ts";
import { runners, startLocal } from "../../../support/providers/local-platform.ts";
import { markedProcesses } from "../../../support/sandbox/jobs.ts";
import { needs } from "../../../support/vitest/machine.ts";

const SECRET = "s3cr3t-of-the-service";
const SERVERS = "s3cr3t-of-the-server";

/** Responds with everything that the service can see of itself and its surroundings. */
const looker = nodeSource(`
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { createServer } from "node:http";
const attempt = (look) => { try { return look(); } catch (error) { return String(error.code); } };
const pids = () => readdirSync("/proc").filter((name) => /^\\d+$/.test(name));
createServer((request, response) => response.end(JSON.stringify({
  env: process.env,
  argv: attempt(() => readFileSync("/proc/self/cmdline", "utf8")),
  init: attempt(() => readFileSync("/proc/1/environ", "utf8")),
  fds: readdirSync("/proc/self/fd").map((fd) => attempt(() => readlinkSync("/proc/self/fd/" + fd))),
  lines: pids().map((pid) => attempt(() => readFileSync("/proc/" + pid + "/cmdline", "utf8"))),
  environments: pids().map((pid) => attempt(() => readFileSync("/proc/" + pid + "/environ", "utf8"))),
  parent: process.ppid,
}))).listen(process.env.PORT);
`);

interface ServiceView {
  readonly env: Readonly<Record<string, string>>;
  readonly init: string;
  readonly fds: readonly string[];
  readonly lines: readonly string[];
}

const look = async (url: string): Promise<ServiceView> => (await (await fetch(url)).json()) as ServiceView;

/** Variables that a shell adds. */
const ofTheShell = ["PWD", "OLDPWD", "SHLVL", "_"];

afterEach(() => vi.unstubAllEnvs());

describe.each(runners)("%s", (runner) => {
  test("a service gets exactly its environment, and no process arguments show it", async () => {
    for (const name of ["PORTSIDE_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "NODE_OPTIONS_SECRET"])
      vi.stubEnv(name, SERVERS);
    await using platform = await startLocal({ runner });
    const url = await platform.up(looker, { env: { MY_KEY: SECRET, EMPTY: "" }, port: 9999 });
    const seen = await look(url);

    const names = Object.keys(seen.env).filter((name) => !ofTheShell.includes(name) && name !== "NODE_OPTIONS");
    expect(names.sort()).toEqual(
      [
        ...["CRON_TOKEN", "EMPTY", "HOME", "K_REVISION", "K_SERVICE", "LANG", "MY_KEY", "NODE_ENV", "PATH"],
        ...["PORT", "PORTSIDE_BUSY_SOCKET", "PORTSIDE_INSTANCE", "PORTSIDE_VOLUMES", "PYTHONUNBUFFERED", "TMPDIR"],
        ...(runner === "process" ? ["PORTSIDE_MOUNTS"] : []),
      ].sort(),
    );
    expect(seen.env).toMatchObject({ MY_KEY: SECRET, EMPTY: "", K_SERVICE: "app", K_REVISION: "app-00001" });
    expect(seen.env["NODE_ENV"]).toBe("production");
    // In a separate network PORT is the declared port. Instances in this machine's network get different ones.
    if (platform.controlPlane.capabilities().isolation === "full") expect(seen.env["PORT"]).toBe("9999");
    else {
      expect(Number(seen.env["PORT"])).toBeGreaterThan(1023);
      expect(seen.env["PORT"]).not.toBe("9999");
    }
    expect(JSON.stringify(seen)).not.toContain(SERVERS);

    const pids = markedProcesses(seen.env["PORTSIDE_INSTANCE"] as string);
    expect(pids.length).toBeGreaterThan(0);
    const shown = pids.map((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8"));
    expect(shown.join("\n")).not.toContain(SECRET);
  });

  test("a service inherits no open file of the server", async () => {
    await using platform = await startLocal({ runner });
    const { fds } = await look(await platform.up(looker));
    for (const link of fds) expect(link).toMatch(/^(\/dev\/null|pipe:|socket:|anon_inode:|ENOENT|\/proc\/\d+\/fd)/);
    expect(fds[0]).toBe("/dev/null");
  });
});

test("a sandbox hides all other processes and its own setup", async (context) => {
  needs(context, "bubblewrap");
  vi.stubEnv("PORTSIDE_API_KEY", SERVERS);
  await using platform = await startLocal({ runner: "bubblewrap" });
  await platform.up(looker, { function_name: "neighbour", env: { THEIRS: "n31ghb0ur" } }, "others");
  const seen = await look(await platform.up(looker, { env: { MY_KEY: SECRET } }));
  // The first process of the sandbox is bubblewrap's own, and the command can read what it inherits.
  const inherited = seen.init.split("\0").filter(Boolean);
  const names = inherited.map((entry) => entry.split("=")[0]).filter((name) => name !== "PWD");
  expect(names.sort()).toEqual(["PATH", "PORTSIDE_INSTANCE"]);
  expect(seen.lines.join("\n")).not.toContain(SECRET);
  expect(JSON.stringify(seen)).not.toContain("n31ghb0ur");
  expect(JSON.stringify(seen)).not.toContain(SERVERS);
  expect(seen.lines.length).toBeLessThan(6);
});
