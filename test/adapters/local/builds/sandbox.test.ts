/** The environment of build commands, their permissions, and the handling of their output. */
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { helloServer, sourceOf, tarGz } from "../../../support/archives/archives.ts";
import { runners, startLocal, type TestPlatform } from "../../../support/providers/local-platform.ts";
import { needs } from "../../../support/vitest/machine.ts";

const buildSource = (build: string, more: Readonly<Record<string, string>> = {}): Uint8Array =>
  sourceOf({
    "package.json": JSON.stringify({ type: "module", scripts: { build, start: "node server.js" } }),
    "server.js": helloServer("hello"),
    ...more,
  });

const SECRET = "s3cr3t-of-the-server";
const secrets = Object.fromEntries(
  [
    ...["PORTSIDE_API_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "GITHUB_TOKEN", "NPM_TOKEN", "SSH_AUTH_SOCK"],
    ...["GOOGLE_APPLICATION_CREDENTIALS", "npm_config__auth", "NODE_OPTIONS", "LD_PRELOAD", "DATABASE_URL"],
  ].map((name) => [name, SECRET]),
);

afterEach(() => vi.unstubAllEnvs());

const messages = async (platform: TestPlatform, source: Uint8Array): Promise<string[]> => {
  const records = await platform.deploy(source);
  expect(records.at(-1)).toMatchObject({ status: "DONE" });
  return records.map(({ message }) => message);
};

describe.each(runners)("%s", (runner) => {
  test("the environment contains the network's settings, and none of the server's secrets", async (context) => {
    needs(context, "npm");
    // The secrets must come neither from the given environment nor from this process's environment.
    for (const name of ["PORTSIDE_API_KEY", "GITHUB_TOKEN", "DATABASE_URL"]) vi.stubEnv(name, SECRET);
    const network = { HTTPS_PROXY: "http://proxy.invalid:3128", NODE_EXTRA_CA_CERTS: "/etc/ssl/own.pem" };
    const environment = { PATH: process.env["PATH"], HOME: "/root", ...secrets, ...network };
    await using platform = await startLocal({ runner }, {}, { environment });
    const lines = await messages(platform, buildSource("env; echo; cat /proc/self/environ | tr '\\0' '\\n'"));
    const all = lines.join("\n");
    expect(all).not.toContain(SECRET);
    expect(lines).toContain("HTTPS_PROXY=http://proxy.invalid:3128");
    expect(lines).toContain("NODE_EXTRA_CA_CERTS=/etc/ssl/own.pem");
    expect(lines).toContain("CI=true");
    expect(lines.find((line) => line.startsWith("HOME="))).not.toBe("HOME=/root");
  });

  test("commands find Node.js, npm and npx", async (context) => {
    needs(context, "npm");
    await using platform = await startLocal({ runner });
    const lines = await messages(
      platform,
      buildSource("node --version; npm --version; npx --version; command -v node"),
    );
    expect(lines).toContain(process.version);
    expect(lines.filter((line) => /^\d+\.\d+\.\d+$/.test(line)).length).toBe(2);
  });

  test("omits the middle of megabytes of output, reports that once, and continues", async (context) => {
    needs(context, "npm");
    await using platform = await startLocal({ runner });
    const print = `for (let n = 0; n < 80_000; n++) console.log(String(n).padEnd(99, "."));`;
    const lines = await messages(platform, buildSource("node print.js", { "print.js": print }));
    const numbers = lines.filter((line) => line.endsWith("....")).map((line) => Number.parseInt(line, 10));
    const cut = numbers.findIndex((number, index) => number !== index);
    expect(cut).toBeGreaterThan(19_900);
    expect(numbers.slice(cut)).toEqual(numbers.slice(cut).map((_, index, last) => 80_000 - last.length + index));
    expect(numbers.length).toBeLessThan(22_000);
    expect(lines.filter((line) => /lines \(6 MB\) of build output omitted/.test(line)).length).toBe(1);
  });

  test("reports the last lines of long output with a failure", async (context) => {
    needs(context, "npm");
    await using platform = await startLocal({ runner });
    const print = `for (let n = 0; n < 80_000; n++) console.log(String(n).padEnd(99, ".")); process.exitCode = 3;`;
    const last = (await platform.deploy(buildSource("node print.js", { "print.js": print }))).at(-1);
    expect(last).toMatchObject({ status: "ERROR", reason: "build_failed", exit_code: 3 });
    expect(last?.log_tail?.some((line) => line.startsWith("79999."))).toBe(true);
  });

  test("ends a command at its memory limit, and reports that", async (context) => {
    needs(context, "npm");
    await using platform = await startLocal({ runner, buildMemory: 200_000_000 });
    // Allocates slowly, so that the watchdog notices it before the kernel refuses the memory, even on a busy machine.
    const eat = "const kept = []; setInterval(() => kept.push(Buffer.alloc(8 << 20, 1)), 40);";
    const last = (await platform.deploy(buildSource("node eat.js", { "eat.js": eat }))).at(-1);
    expect(last).toMatchObject({ status: "ERROR", reason: "build_failed" });
    expect(last?.message).toMatch(/^The build script ran out of memory \(limit: .+\)\.$/);
  });
});

test("in a sandbox, commands can write only to their own folder and cache, and cannot see files of other accounts", async (context) => {
  needs(context, "bubblewrap", "npm");
  await using platform = await startLocal({ runner: "bubblewrap" });
  await platform.up(buildSource("echo neighbours > $HOME/secret"), { function_name: "other" }, "others");
  const steps = [
    ...["/usr/x", "/etc/x", "/x", "/cache/../x"].map(
      (path) => `(echo x > ${path}) 2>/dev/null || echo refused ${path}`,
    ),
    // Of the platform's own folder, the sandbox shows only the programs that call npm.
    `echo seen $(ls ${platform.dataDir})`,
    "cat /cache/secret 2>/dev/null || echo no secret",
    "echo mine > made.txt && cat made.txt",
  ];
  const lines = await messages(platform, buildSource(steps.join("; ")));
  expect(lines.filter((line) => line.startsWith("refused")).length).toBe(4);
  for (const line of ["seen tools", "no secret", "mine"]) expect(lines).toContain(line);
});

test("drops special bits such as set-user-id, and keeps only the executable bit", async () => {
  await using platform = await startLocal({ runner: "process" });
  const entries = [
    { path: "package.json", content: JSON.stringify({ type: "module" }) },
    { path: "server.js", content: helloServer("hello"), mode: 0o666 },
    { path: "bin", type: "Directory" as const, mode: 0o7777 },
    { path: "bin/setuid", content: "#!/bin/sh\n", mode: 0o6755 },
    { path: "bin/tool", content: "#!/bin/sh\n", mode: 0o100 },
    { path: "bin/closed", content: "", mode: 0o000 },
  ];
  await platform.up(tarGz(entries));
  const root = join(platform.dataDir, "images");
  const [owner] = readdirSync(root);
  const [image] = readdirSync(join(root, owner as string));
  const modes = (path: string) => lstatSync(join(root, owner as string, image as string, "app", path)).mode & 0o7777;
  const found = entries.map(({ path }) => [path, modes(path).toString(8)]);
  expect(Object.fromEntries(found)).toEqual({
    "package.json": "644",
    "server.js": "644",
    bin: "755",
    "bin/setuid": "755",
    "bin/tool": "755",
    "bin/closed": "644",
  });
});
