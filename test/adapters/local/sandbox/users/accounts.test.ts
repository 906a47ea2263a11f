/** A platform that runs as root gives each account a separate user, which other accounts cannot bypass. */
import { spawnSync } from "node:child_process";
import { chmodSync, globSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { allProcesses, environmentOf } from "../../../../../adapters/local/instances/proc.ts";
import { nodeSource } from "../../../../support/archives/archives.ts";
import { folderWith } from "../../../../support/archives/folders.ts";
import {
  principalOf,
  startLocal,
  startLocalIn,
  type TestPlatform,
} from "../../../../support/providers/local-platform.ts";
import { needs } from "../../../../support/vitest/machine.ts";

const RANGE = { from: 2_100_000_000, to: 2_100_999_999 };

/** Responds with the value of the JavaScript in the request's body. */
const evaluating = `
import { createServer } from "node:http";
import * as fs from "node:fs";
import * as net from "node:net";
import { execSync } from "node:child_process";
const tools = { fs, net, execSync, process };
createServer(async (request, response) => {
  let text = "";
  for await (const piece of request) text += piece;
  try {
    const run = new Function(...Object.keys(tools), "return (async () => {" + text + "})()");
    response.end(JSON.stringify((await run(...Object.values(tools))) ?? null));
  } catch (error) {
    response.end(JSON.stringify({ error: error.code ?? error.message }));
  }
}).listen(process.env.PORT);
`;

const ask = async (url: string, script: string): Promise<unknown> =>
  (await fetch(url, { method: "POST", body: script })).json();

const up = (platform: TestPlatform, name: string, account: string, fields: object = {}) =>
  platform.up(nodeSource(evaluating), { function_name: name, volumes: { "/data": "files" }, ...fields }, account);

/** The process of a service, as this machine sees it. */
const processOf = (service: string): number => {
  const found = allProcesses().filter(({ pid }) => environmentOf(pid).includes(`K_SERVICE=${service}`));
  return found[0]?.pid as number;
};

const uidOf = (pid: number): number => lstatSync(`/proc/${pid}`).uid;

/** The folders of all volumes. */
const volumesOf = (dataDir: string): string[] => {
  const folder = join(dataDir, "storage", "volumes");
  return readdirSync(folder).map((name) => join(folder, name));
};

/** The output of a shell as the user, outside of any sandbox. */
const asUser = (uid: number, script: string) => {
  const args = ["--reuid", String(uid), "--regid", String(uid), "--clear-groups", "sh", "-c", script];
  const { status, stdout } = spawnSync("setpriv", args, { encoding: "utf8", cwd: "/" });
  return { status, stdout };
};

const put = async (platform: TestPlatform, account: string, path: string, text: string): Promise<void> => {
  const grant = { volume: "files", path };
  const granted = (await platform.controlPlane.grantUpload(principalOf(account), grant))._unsafeUnwrap();
  const url = "url" in granted ? granted.url : "";
  expect((await fetch(url, { method: "PUT", body: text })).ok).toBe(true);
};

const get = async (platform: TestPlatform, account: string, path: string): Promise<string> => {
  const grant = { volume: "files", path };
  const { url } = (await platform.controlPlane.grantDownload(principalOf(account), grant))._unsafeUnwrap();
  return (await fetch(url)).text();
};

test("services of one account share a user, and another account has a different one", async (context) => {
  needs(context, "bubblewrap", "root");
  await using platform = await startLocal({ runner: "bubblewrap" });
  await up(platform, "one", "acme");
  await up(platform, "two", "acme");
  await up(platform, "three", "globex");
  const [one, two, three] = ["one", "two", "three"].map((name) => uidOf(processOf(name))) as [number, number, number];
  expect(one).toBe(two);
  expect(one).not.toBe(three);
  for (const uid of [one, three]) expect(uid >= RANGE.from && uid <= RANGE.to).toBe(true);
  const status = readFileSync(`/proc/${processOf("one")}/status`, "utf8");
  expect(status).toMatch(new RegExp(`^Gid:\t${one}\t${one}\t${one}\t${one}$`, "m"));
  expect(status).toMatch(/^Groups:\s*$/m);
  expect(status).toMatch(/^CapBnd:\s+0+$/m);
});

test("a service and the API read, change and remove each other's files", async (context) => {
  needs(context, "bubblewrap", "root");
  await using platform = await startLocal({ runner: "bubblewrap" });
  const url = await up(platform, "one", "acme");
  await put(platform, "acme", "deep/er/object", "by the API");
  const script = `
    const seen = fs.readFileSync("/data/deep/er/object", "utf8");
    fs.appendFileSync("/data/deep/er/object", " and the service");
    fs.writeFileSync("/data/deep/er/beside", "by the service");
    fs.writeFileSync("/data/closed", "odd", { mode: 0 });
    fs.mkdirSync("/data/hidden", { mode: 0o700 });
    fs.writeFileSync("/data/hidden/inside", "hidden");
    fs.renameSync("/data/deep/er", "/data/moved");
    return seen;`;
  expect(await ask(url, script)).toBe("by the API");
  expect(await get(platform, "acme", "moved/object")).toBe("by the API and the service");
  expect(await get(platform, "acme", "moved/beside")).toBe("by the service");
  expect(await get(platform, "acme", "closed")).toBe("odd");
  expect(await get(platform, "acme", "hidden/inside")).toBe("hidden");
  await put(platform, "acme", "hidden/inside", "replaced");
  expect(await ask(url, `return fs.readFileSync("/data/hidden/inside", "utf8")`)).toBe("replaced");
  const removed = { volume: "files", path: "moved/object" };
  expect((await platform.controlPlane.deleteObject(principalOf("acme"), removed)).isOk()).toBe(true);
  expect(await ask(url, `return fs.existsSync("/data/moved/object")`)).toBe(false);
});

test("a read-only mount and a sub_path also belong to the service's user", async (context) => {
  needs(context, "bubblewrap", "root");
  await using platform = await startLocal({ runner: "bubblewrap" });
  const volumes = { "/fixed": { name: "files", read_only: true }, "/part": { name: "files", sub_path: "a/b" } };
  const url = await up(platform, "one", "acme", { volumes });
  expect(await ask(url, `fs.writeFileSync("/part/file", "x"); return fs.readFileSync("/fixed/a/b/file", "utf8")`)).toBe(
    "x",
  );
  expect(await ask(url, `fs.writeFileSync("/fixed/a/b/file", "y")`)).toEqual({ error: "EROFS" });
});

test("another account's user that escaped its sandbox reaches no file, process or socket of an account", async (context) => {
  needs(context, "bubblewrap", "root");
  await using platform = await startLocal({ runner: "bubblewrap" });
  const url = await up(platform, "one", "acme", { env: { SECRET: "s" } });
  await up(platform, "two", "globex", { volumes: {} });
  await ask(
    url,
    `fs.writeFileSync("/data/open", "secret", { mode: 0o666 });
     fs.mkdirSync("/data/all", { mode: 0o777 }); fs.chmodSync("/data/all", 0o777); fs.chmodSync("/data", 0o777);
     await new Promise((done) => net.createServer().listen("/data/all/socket", done));
     fs.chmodSync("/data/all/socket", 0o777);`,
  );
  const [victim, attacker] = [processOf("one"), uidOf(processOf("two"))];
  const [volume] = volumesOf(platform.dataDir) as [string];
  expect(readFileSync(join(volume, "open"), "utf8")).toBe("secret");
  // Open the data folder itself, so that its parents' modes do not protect the files.
  chmodSync(platform.dataDir, 0o711);
  const own = uidOf(victim);
  for (const [what, script] of [
    ["a file", `cat ${volume}/open`],
    ["a folder", `ls ${volume}/all`],
    ["a new file", `echo x > ${volume}/all/new`],
    ["the image", `cat ${platform.dataDir}/images/*/*/app/server.js`],
    ["the state", `cat ${platform.dataDir}/state.sqlite`],
    ["the environment", `cat /proc/${victim}/environ | grep -q SECRET`],
    ["the root", `ls /proc/${victim}/root/data`],
    ["the descriptors", `ls /proc/${victim}/fd/`],
    ["the memory", `head -c 1 /proc/${victim}/mem`],
    ["a signal", `kill -0 ${victim}`],
  ]) {
    expect([what, asUser(attacker, script as string).status]).not.toEqual([what, 0]);
    expect([what, asUser(attacker, script as string).stdout]).toEqual([what, ""]);
  }
  const connect = `require("net").connect("${volume}/all/socket").on("connect", () => process.exit(0)).on("error", () => process.exit(1))`;
  expect(asUser(attacker, `'${process.execPath}' -e '${connect}'`).status).not.toBe(0);
  // The same attempts with a permitted user must succeed.
  expect(asUser(own, `kill -0 ${victim}`).status).toBe(0);
  expect(asUser(0, `cat ${volume}/open`).stdout).toBe("secret");
});

test("builds run as the account's user, and leave no files of the platform's user", async (context) => {
  needs(context, "bubblewrap", "root", "npm");
  await using platform = await startLocal({ runner: "bubblewrap" });
  const source = (text: string) =>
    nodeSource(evaluating, {
      "package.json": JSON.stringify({
        name: "built",
        private: true,
        type: "module",
        scripts: {
          build: `npm --version && echo ${text} >> $HOME/kept && cp $HOME/kept kept`,
          start: "node server.js",
        },
      }),
    });
  const url = await platform.up(source("a"), { function_name: "one", volumes: {} }, "acme");
  const uid = uidOf(processOf("one"));
  const [image] = globSync(join(platform.dataDir, "images", "*", "*")) as [string];
  expect(lstatSync(join(image, "app", "kept")).uid).toBe(uid);
  expect(lstatSync(join(image, "image.json")).uid).toBe(0);
  expect(await ask(url, `fs.writeFileSync("/app/kept", "x")`)).toEqual({ error: "EROFS" });
  // The account's own folder outlives a build.
  const next = await platform.up(source("b"), { function_name: "one", volumes: {} }, "acme");
  expect(await ask(next, `return fs.readFileSync("/app/kept", "utf8")`)).toBe("a\nb\n");
  // Another account's builds use another folder.
  const other = await platform.up(source("c"), { function_name: "two", volumes: {} }, "globex");
  expect(await ask(other, `return fs.readFileSync("/app/kept", "utf8")`)).toBe("c\n");
});

test("an account keeps its user and files across restarts", async (context) => {
  needs(context, "bubblewrap", "root");
  using folder = folderWith();
  const uids: number[] = [];
  for (const round of [1, 2]) {
    await using platform = await startLocalIn(folder.path, { runner: "bubblewrap" });
    const url = await up(platform, "one", "acme");
    expect(await ask(url, `fs.appendFileSync("/data/log", "x"); return fs.readFileSync("/data/log", "utf8")`)).toBe(
      "x".repeat(round),
    );
    uids.push(uidOf(processOf("one")));
  }
  expect(uids[0]).toBe(uids[1]);
});

test("a mount changes the owner of files from a platform that ran all services as one user", async (context) => {
  needs(context, "bubblewrap", "root");
  using folder = folderWith();
  {
    await using platform = await startLocalIn(folder.path, { runner: "process" });
    await up(platform, "one", "acme");
    const [volume] = volumesOf(folder.path) as [string];
    mkdirSync(join(volume, "old"));
    writeFileSync(join(volume, "old", "file"), "old", { mode: 0o600 });
    expect(uidOf(processOf("one"))).toBe(0);
  }
  {
    await using platform = await startLocalIn(folder.path, { runner: "bubblewrap" });
    const [deployment] = (await platform.controlPlane.listDeployments(principalOf("acme")))._unsafeUnwrap();
    const url = deployment?.url as string;
    expect(
      await ask(
        url,
        `fs.appendFileSync("/data/old/file", " and new"); return fs.readFileSync("/data/old/file", "utf8")`,
      ),
    ).toBe("old and new");
    expect(uidOf(processOf("one"))).toBeGreaterThan(0);
  }
  await using platform = await startLocalIn(folder.path, { runner: "process" });
  const [volume] = volumesOf(folder.path) as [string];
  const [deployment] = (await platform.controlPlane.listDeployments(principalOf("acme")))._unsafeUnwrap();
  await ask(deployment?.url as string, "return 1");
  expect(lstatSync(join(volume, "old", "file")).uid).toBe(0);
});

test("a full range fails deploys of new accounts, and existing ones keep their users", async (context) => {
  needs(context, "bubblewrap", "root");
  await using platform = await startLocal({ runner: "bubblewrap", uidRange: "2100000005-2100000005" });
  await up(platform, "one", "acme");
  expect(uidOf(processOf("one"))).toBe(2_100_000_005);
  const records = await platform.deploy(nodeSource(evaluating), { function_name: "two", volumes: {} }, "globex");
  expect(records.at(-1)).toMatchObject({ status: "ERROR", reason: "provider_unavailable" });
  expect(records.at(-1)?.message).toContain("can set a larger --uid-range");
  const made = await platform.controlPlane.createVolume(principalOf("globex"), { name: "files" });
  expect(made._unsafeUnwrapErr().message).toContain("can set a larger --uid-range");
  await up(platform, "one", "acme");
});

test("refuses to start with a range that contains users of the machine", async (context) => {
  needs(context, "bubblewrap", "root");
  const [name, , uid] = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"))
    .find(([, , id]) => Number(id) >= 1000 && Number(id) < 60_000) ?? ["", "", ""];
  if (name === "") return context.skip("this machine has no regular user");
  await expect(startLocal({ runner: "bubblewrap", uidRange: `${uid}-${uid}` })).rejects.toThrow(
    new RegExp(`contains '${name}' \\(${uid}\\)(?!.*'${name}')`),
  );
});
