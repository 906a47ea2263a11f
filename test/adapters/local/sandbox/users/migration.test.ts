/** Migrates data folders of a platform that ran all services as one user to separate users. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, globSync, lstatSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { helloServer, nodeSource, sourceOf } from "../../../../support/archives/archives.ts";
import { folderWith } from "../../../../support/archives/folders.ts";
import { randomFrom } from "../../../../support/crashes/crash.ts";
import { serve } from "../../../../support/http/served.ts";
import { principalOf, startLocalIn } from "../../../../support/providers/local-platform.ts";
import { needs } from "../../../../support/vitest/machine.ts";

const UID = 2_100_000_007;
const FOLDERS = 100;
const FILES = 1000;

/** Creates 100,000 files, and links to a file and a folder outside. */
const fill = (tree: string, outside: string): void => {
  for (let n = 0; n < FOLDERS; n++) {
    const folder = join(tree, `d${n % 10}`, `d${n}`);
    mkdirSync(folder, { recursive: true });
    for (let m = 0; m < FILES; m++) writeFileSync(join(folder, `f${m}`), "");
    symlinkSync(outside, join(folder, "link"));
    symlinkSync(join(outside, "secret"), join(folder, "file-link"));
  }
};

/** Counts the files and folders of each user, without links. */
const owners = (root: string): Map<number, number> => {
  const counts = new Map<number, number>();
  const look = (path: string): void => {
    const stats = lstatSync(path);
    if (stats.isSymbolicLink()) return;
    counts.set(stats.uid, (counts.get(stats.uid) ?? 0) + 1);
    if (stats.isDirectory()) for (const name of readdirSync(path)) look(join(path, name));
  };
  look(root);
  return counts;
};

const ALL = FOLDERS * FILES + FOLDERS + 10 + 1;

/** Starts the walk in a separate process, and kills it when it has reached the file. */
const killWalkAt = async (tree: string, reached: string): Promise<void> => {
  const module = pathToFileURL(
    join(import.meta.dirname, "../../../../../adapters/local/tenant-files/chown-tree.ts"),
  ).href;
  const code = `const { chownFolder } = await import(${JSON.stringify(module)}); await chownFolder(${JSON.stringify(tree)}, ${UID})`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: "inherit" });
  const ended = once(child, "exit");
  await expect.poll(() => lstatSync(join(tree, reached)).uid === UID, { interval: 1 }).toBe(true);
  child.kill("SIGKILL");
  expect(await ended).toEqual([null, "SIGKILL"]);
};

test("changes the owner of 100,000 files after a killed walk, while other services respond", async (context) => {
  needs(context, "root", "bubblewrap");
  using folder = folderWith({ "outside/secret": "s" });
  const [dataDir, outside] = [join(folder.path, "data"), join(folder.path, "outside")];
  const appending = nodeSource(`
    import { createServer } from "node:http";
    import { appendFileSync, readFileSync } from "node:fs";
    createServer((request, response) => {
      appendFileSync("/data/d0/d0/f0", "x");
      response.end(readFileSync("/data/d0/d0/f0"));
    }).listen(process.env.PORT);`);
  {
    await using platform = await startLocalIn(dataDir, { runner: "process" });
    await platform.up(appending, { function_name: "large", volumes: { "/data": "files" } }, "acme");
    await platform.up(nodeSource(helloServer("hi")), { function_name: "other", volumes: {} }, "globex");
  }
  const [volume] = globSync(join(dataDir, "storage", "volumes", "*")) as [string];
  fill(volume, outside);
  await killWalkAt(
    volume,
    readdirSync(volume).map((name) => join(name, readdirSync(join(volume, name))[0] as string))[0] as string,
  );
  expect(lstatSync(volume).uid).toBe(0);
  expect([...owners(volume).keys()].sort()).toEqual([0, UID]);

  await using platform = await startLocalIn(dataDir, { runner: "bubblewrap" });
  const urlOf = async (account: string) =>
    (await platform.controlPlane.listDeployments(principalOf(account)))._unsafeUnwrap()[0]?.url as string;
  const [large, other] = [await urlOf("acme"), await urlOf("globex")];
  await fetch(other);
  expect(lstatSync(volume).uid).toBe(0);
  let isWalking = true;
  const first = fetch(large).then((response) => response.text());
  void first.finally(() => {
    isWalking = false;
  });
  let answered = 0;
  while (isWalking) {
    expect(await (await fetch(other)).text()).toBe("hi");
    if (isWalking) answered++;
  }
  expect(await first).toBe("x");
  expect(answered).toBeGreaterThan(0);
  const { uid } = lstatSync(volume);
  expect([...owners(volume)]).toEqual([[uid, ALL]]);
  expect([...owners(outside).keys()]).toEqual([0]);
});

test("resumes after repeated kills while a volume changes owner, and leaves no mixed owners", async (context) => {
  needs(context, "root", "bubblewrap");
  using folder = folderWith({ "outside/secret": "s" });
  const [dataDir, outside] = [join(folder.path, "data"), join(folder.path, "outside")];
  let url: string;
  {
    await using platform = await startLocalIn(dataDir, { runner: "process" });
    url = await platform.up(nodeSource(helloServer("mounted")), { volumes: { "/data": "files" } });
  }
  const [volume] = globSync(join(dataDir, "storage", "volumes", "*")) as [string];
  const [folders, files] = [40, 500];
  for (let n = 0; n < folders; n++) {
    mkdirSync(join(volume, `d${n}`));
    for (let m = 0; m < files; m++) writeFileSync(join(volume, `d${n}`, `f${m}`), "");
    symlinkSync(outside, join(volume, `d${n}`, "link"));
    symlinkSync(join(outside, "secret"), join(volume, `d${n}`, "file-link"));
  }
  // In the order of the walk.
  const order = readdirSync(volume);
  const random = randomFrom(4);
  const users = new Set<number>();
  let cut = 0;
  for (const part of [0, 0.3, 0.6, 0.9]) {
    const reached = order[Math.floor(folders * part * random())] as string;
    const { child } = await serve(dataDir, { runner: "bubblewrap" });
    const ended = once(child, "exit");
    let answer: string | undefined;
    const called = fetch(url)
      .then((response) => response.text(), String)
      .then((text) => {
        answer = text;
      });
    const uid = () => lstatSync(join(volume, reached, "f0")).uid;
    await expect.poll(() => uid() !== 0 || answer !== undefined, { interval: 1 }).toBe(true);
    expect(uid(), answer).not.toBe(0);
    child.kill("SIGKILL");
    expect(await ended).toEqual([null, "SIGKILL"]);
    await called;
    users.add(uid());
    // The walk changes the folder itself last. It may be faster than the kill.
    if (lstatSync(volume).uid === 0) cut++;
  }
  expect(cut).toBeGreaterThan(0);
  await using _ = await startLocalIn(dataDir, { runner: "bubblewrap" });
  expect(await (await fetch(url)).text()).toBe("mounted");
  const { uid } = lstatSync(volume);
  expect([...owners(volume)]).toEqual([[uid, folders * (files + 1) + 1]]);
  // A uid that a killed server assigned belongs to the account permanently.
  expect([...users]).toEqual([uid]);
  expect([...owners(outside).keys()]).toEqual([0]);
});

test("runs images and virtual environments that only root may read", async (context) => {
  needs(context, "root", "bubblewrap", "python");
  using folder = folderWith();
  const main = `
import os, sys, http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(sys.prefix.encode())
http.server.HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
`;
  {
    await using platform = await startLocalIn(folder.path, { runner: "process" });
    await platform.up(
      sourceOf({ "main.py": main, "requirements.txt": "" }),
      { function_name: "py", volumes: {} },
      "acme",
    );
  }
  const closed = [
    ...globSync(join(folder.path, "cache", "*", "venvs", "*", "*")),
    ...globSync(join(folder.path, "images", "*", "*", "app")),
  ];
  expect(closed.length).toBeGreaterThan(1);
  for (const path of closed) chmodSync(path, 0o700);
  await using platform = await startLocalIn(folder.path, { runner: "bubblewrap" });
  const [deployment] = (await platform.controlPlane.listDeployments(principalOf("acme")))._unsafeUnwrap();
  expect(await (await fetch(deployment?.url as string)).text()).toContain(join(folder.path, "cache"));
});
