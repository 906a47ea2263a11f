/** `portside run` needs no server or key. It deploys again after changes, prints the log, and leaves only volumes. */
import { readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { helloServer } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { portside } from "../../../support/cli/terminal.ts";
import { principalOf, startLocalIn } from "../../../support/providers/local-platform.ts";
import { watchOutput } from "../../../support/vitest/watch-output.ts";

const packageJson = JSON.stringify({ type: "module", scripts: { start: "node server.js" } });

test("runs a folder, redeploys changes, keeps the working revision, and cleans up", async () => {
  using folder = folderWith({
    "package.json": packageJson,
    "server.js": `console.log("words of the first");${helloServer("first")}`,
  });
  const output = watchOutput();
  const stop = new AbortController();
  const ended = portside(["run", folder.path], { signal: stop.signal, onOutput: output.onOutput });
  const url = (await output.until(/^(http:\/\/127\.0\.0\.1:\d+) {2}\(/m))[1] as string;
  expect(await (await fetch(url)).text()).toBe("first");
  await output.until(/words of the first/);

  let seen = output.length();
  // Saves by renaming, as editors do. The watch must also notice the next save.
  writeFileSync(join(folder.path, "server.js.tmp"), helloServer("second"));
  renameSync(join(folder.path, "server.js.tmp"), join(folder.path, "server.js"));
  await output.until(/^DONE/m, seen);
  expect(await (await fetch(url)).text()).toBe("second");

  seen = output.length();
  writeFileSync(join(folder.path, "server.js"), "process.exit(3);");
  await output.until(/^ERROR/m, seen);
  expect(await (await fetch(url)).text()).toBe("second");

  stop.abort();
  expect(await ended).toMatchObject({ code: 0 });
  const rest = readdirSync(join(folder.path, ".portside")).filter((name) => !name.startsWith("state."));
  expect(rest.sort()).toEqual([
    ".gitignore",
    "lock.sqlite",
    "secrets.key",
    "set-aside",
    "start-lock.sqlite",
    "storage",
  ]);
  await expect(fetch(url)).rejects.toThrow();
});

test("serves at --port, and fails if another program uses the port", async () => {
  using folder = folderWith({ "package.json": packageJson, "server.js": helloServer("here") });
  const output = watchOutput();
  const stop = new AbortController();
  const ended = portside(["run", folder.path, "--port", "48123"], { signal: stop.signal, onOutput: output.onOutput });
  await output.until(/http:\/\/127\.0\.0\.1:48123 /);
  const second = await portside(["run", folder.path, "--port", "48123"]);
  expect(second).toMatchObject({ code: 1 });
  expect(second.stderr).toContain("48123 is in use");
  stop.abort();
  await ended;
});

test("keeps volumes for the next run, but no deployments", async () => {
  using folder = folderWith({ "package.json": packageJson, "server.js": helloServer("here") });
  const dataDir = join(folder.path, ".portside");
  const runOnce = async (name: string): Promise<void> => {
    folder.write({ "portside.json": JSON.stringify({ name, volumes: { "/data": "notes" } }) });
    const output = watchOutput();
    const stop = new AbortController();
    const ended = portside(["run", folder.path], { signal: stop.signal, onOutput: output.onOutput });
    await output.until(/^(http:\/\/127\.0\.0\.1:\d+) {2}\(/m);
    stop.abort();
    expect(await ended).toMatchObject({ code: 0 });
  };
  await runOnce("first");
  const volumes = join(dataDir, "storage", "volumes");
  writeFileSync(join(volumes, readdirSync(volumes)[0] as string, "note.txt"), "kept");
  await runOnce("second");
  const local = principalOf("local");
  await using platform = await startLocalIn(dataDir, { runner: "process" });
  const { controlPlane } = platform;
  expect((await controlPlane.listDeployments(local))._unsafeUnwrap()).toEqual([]);
  const { url } = (await controlPlane.grantDownload(local, { volume: "notes", path: "note.txt" }))._unsafeUnwrap();
  expect(await (await fetch(url)).text()).toBe("kept");
});
