/** Isolation of commands in a bubblewrap sandbox. */
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { nodeSource } from "../../../support/archives/archives.ts";
import { startLocal } from "../../../support/providers/local-platform.ts";
import { createBench, sh } from "../../../support/sandbox/jobs.ts";
import { needs } from "../../../support/vitest/machine.ts";

const sandbox = { kind: "bubblewrap", limits: "watchdog" } as const;

test("mounts the root and the system read-only, and a separate /tmp", async (context) => {
  needs(context, "bubblewrap");
  await using bench = await createBench(sandbox);
  for (const path of ["/new", "/usr/new", "/etc/new", "/etc/passwd", "/run/new", "/var/new", "/bin/new"]) {
    const { code, stderr } = await bench.run(sh(`echo x > ${path}`));
    expect(code, path).not.toBe(0);
    expect(stderr.join(), path).toMatch(/Read-only file system|Permission denied/);
  }
  // Node's own folder may be bound below /tmp, so /tmp may contain more than the sandbox's files.
  const theirs = `/tmp/${basename(bench.folder)}-theirs`;
  await writeFile(theirs, "the host's");
  const own = await bench.run(sh(`echo mine > /tmp/file && cat /tmp/file; ls ${theirs} /tmp/file 2>/dev/null`));
  await rm(theirs);
  expect(own.stdout).toEqual(["mine", "/tmp/file"]);
  expect(existsSync("/tmp/file")).toBe(false);
});

test("shows folders of this machine only where and how they were bound", async (context) => {
  needs(context, "bubblewrap");
  await using bench = await createBench(sandbox);
  const [shown, fixed] = [join(bench.folder, "shown"), join(bench.folder, "fixed")];
  await Promise.all([mkdir(shown), mkdir(fixed)]);
  await writeFile(join(bench.folder, "hidden"), "a neighbour's");
  await writeFile(join(fixed, "file"), "as it was\n");
  const binds = [
    { host: shown, inside: "/data/deep", writable: true },
    { host: fixed, inside: "/fixed", writable: false },
  ];
  const script = `echo new > /data/deep/file; cat /fixed/file; (echo changed > /fixed/file) 2>/dev/null || echo kept
    ls ${bench.folder} /root /srv /var/lib 2>/dev/null; ls /`;
  const { stdout } = await bench.run(sh(script), { binds });
  expect(stdout.slice(0, 2)).toEqual(["as it was", "kept"]);
  expect(stdout.join("\n")).not.toContain("hidden");
  expect(stdout.filter((line) => line === "etc" || line === "data" || line === "sys")).toEqual(["data", "etc"]);
  expect(await readFile(join(shown, "file"), "utf8")).toBe("new\n");
  expect(await readFile(join(fixed, "file"), "utf8")).toBe("as it was\n");
});

test("does not run as root, has no capabilities, and has no way to get any", async (context) => {
  needs(context, "bubblewrap");
  await using bench = await createBench(sandbox);
  const { stdout } = await bench.run(sh("id -u; cat /proc/self/status; hostname"));
  expect(Number(stdout[0])).not.toBe(0);
  const status = stdout.join("\n");
  expect(status).toMatch(/^CapEff:\s+0+$/m);
  expect(status).toMatch(/^CapBnd:\s+0+$/m);
  expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
  expect(stdout.at(-1)).toBe("portside");
});

test("sees only its own processes, and cannot signal others", async (context) => {
  needs(context, "bubblewrap");
  await using bench = await createBench(sandbox);
  const { stdout } = await bench.run(
    sh(`ls /proc | grep -c '^[0-9]'; kill -0 ${process.pid} 2>/dev/null || echo unseen`),
  );
  expect(Number(stdout[0])).toBeLessThan(8);
  expect(stdout[1]).toBe("unseen");
});

test("a service sees no files of the platform or of other services", async (context) => {
  needs(context, "bubblewrap");
  await using platform = await startLocal({ runner: "bubblewrap" });
  await platform.up(nodeSource(server("'a neighbour'")), { function_name: "other" }, "others");
  const url = await platform.up(nodeSource(server(`find(["/"], [])`)));
  const seen = (await (await fetch(url)).json()) as string[];
  expect(seen).toContain("/app/server.js");
  const foreign = seen.filter((path) => path.startsWith(platform.dataDir));
  expect(foreign).toEqual([]);
  expect(seen.filter((path) => path.endsWith(".sqlite"))).toEqual([]);
});

/** A server that responds with the value of an expression. `find` walks folders except the system's. */
const server = (expression: string): string => `
import { readdirSync } from "node:fs";
import { createServer } from "node:http";
const find = (folders, seen) => {
  for (const folder of folders) {
    let entries = [];
    try { entries = readdirSync(folder, { withFileTypes: true }); } catch {}
    for (const entry of entries) {
      const path = (folder === "/" ? "" : folder) + "/" + entry.name;
      seen.push(path);
      if (entry.isDirectory() && !["/proc", "/usr", "/sys", "/dev"].includes(path)) find([path], seen);
    }
  }
  return seen;
};
createServer((request, response) => response.end(JSON.stringify(${expression}))).listen(process.env.PORT);
`;
