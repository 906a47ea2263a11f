/**
 * `npm run soak -- gcsfuse`: mounts buckets of fake-gcs-server with gcsfuse, which Cloud Run uses, and the options that
 * Portside declares. The server does not support renames (objects.moveTo), so these are not tested. Requires root,
 * /dev/fuse and both programs:
 * `go install github.com/googlecloudplatform/gcsfuse/v3@v3.13.0 github.com/fsouza/fake-gcs-server@latest`
 */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { renderTemplate } from "../../adapters/gcp/deploy/render.ts";
import type { ServiceTemplate } from "../../core/domain/deploy/service-template.ts";
import { startFakeGcsServer } from "../fakes/gcp/storage/independent.ts";
import { fakeGcsServer } from "../support/vitest/machine.ts";

const gcsfuse = process.env["PORTSIDE_GCSFUSE"] ?? "gcsfuse";
const BUCKET = "vol-data";

/** The mount options of a volume, without and with a subfolder. */
const optionsOf = (subPath?: string): readonly string[] => {
  const mount = { path: "/data", volume: "data", bucket: BUCKET, readOnly: false, ...(subPath && { subPath }) };
  const template = {
    owner: "acme",
    name: "app",
    env: {},
    envAliases: {},
    mounts: [mount],
  } as unknown as ServiceTemplate;
  const settings = { identity: "app@example.iam.gserviceaccount.com", revision: "app-1", listenDeadlineMs: 1000 };
  return renderTemplate(template, settings).volumes?.[0]?.gcs?.mountOptions ?? [];
};

const folder = mkdtempSync(join(tmpdir(), "portside-gcsfuse-"));
chmodSync(folder, 0o755);
const { child, url } = await startFakeGcsServer(fakeGcsServer);

const object = (name: string) => `${url}/storage/v1/b/${BUCKET}/o/${encodeURIComponent(name)}?alt=media`;
const put = async (name: string, body: string): Promise<void> => {
  const query = `uploadType=media&name=${encodeURIComponent(name)}`;
  const { ok } = await fetch(`${url}/upload/storage/v1/b/${BUCKET}/o?${query}`, { method: "POST", body });
  assert(ok, name);
};

/** Mounts the bucket, runs `work` on it, and unmounts. */
const mounted = async (options: readonly string[], work: (path: string) => Promise<void>): Promise<void> => {
  const path = mkdtempSync(join(folder, "mount-"));
  chmodSync(path, 0o755);
  const flags = options.map((option) => `--${option}`);
  // The endpoint and the login are the emulator's. Cloud Run lets every user of the container reach the mount.
  const own = ["--foreground", `--custom-endpoint=${url}/storage/v1/`, "--anonymous-access", "-o", "allow_other"];
  const fuse = spawn(gcsfuse, [...own, ...flags, BUCKET, path], { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [fuse.stdout, fuse.stderr]) stream.on("data", (text) => (output += text));
  try {
    while (!readFileSync("/proc/mounts", "utf8").includes(` ${path} fuse`)) {
      assert.equal(fuse.exitCode, null, output);
      await sleep(50);
    }
    await work(path);
  } finally {
    spawnSync("umount", [path]);
    if (fuse.exitCode === null) await once(fuse, "exit");
  }
};

/** Runs a shell command as an unprivileged user, as the container of a service may. */
const asNobody = (command: string): void => {
  const { status, stderr } = spawnSync("sh", ["-c", command], { uid: 65534, gid: 65534, encoding: "utf8" });
  assert.equal(status, 0, stderr);
};

try {
  await fetch(`${url}/storage/v1/b?project=p`, { method: "POST", body: JSON.stringify({ name: BUCKET }) });
  // The folders exist only as prefixes of names.
  await put("uploads/2026/a.txt", "uploaded");
  await put("top.txt", "top");

  await mounted(optionsOf(), async (path) => {
    assert.deepEqual(readdirSync(path).sort(), ["top.txt", "uploads"]);
    assert.equal(readFileSync(join(path, "uploads/2026/a.txt"), "utf8"), "uploaded");
    assert.equal(statSync(join(path, "top.txt")).mode & 0o777, 0o666);
    assert.equal(statSync(join(path, "uploads")).mode & 0o777, 0o777);
    asNobody(`mkdir ${path}/made && echo written > ${path}/made/b.txt`);
    writeFileSync(join(path, "uploads/2026/a.txt"), "replaced");
  });
  assert.equal(await (await fetch(object("made/b.txt"))).text(), "written\n");
  assert.equal(await (await fetch(object("uploads/2026/a.txt"))).text(), "replaced");

  await mounted(optionsOf("uploads/2026"), async (path) => {
    assert.deepEqual(readdirSync(path), ["a.txt"]);
    writeFileSync(join(path, "c.txt"), "in the folder");
  });
  assert.equal(await (await fetch(object("uploads/2026/c.txt"))).text(), "in the folder");

  // Cloud Run makes a volume read-only without an option of gcsfuse. Here, an option of mount(8) does so.
  await mounted([...optionsOf(), "o=ro"], async (path) => {
    assert.equal(readFileSync(join(path, "top.txt"), "utf8"), "top");
    assert.throws(() => writeFileSync(join(path, "d.txt"), "no"), /EROFS/);
  });
  console.log(`gcsfuse with ${optionsOf("FOLDER").join(" ")}: folders, modes, other users and subfolders work`);
} finally {
  child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
}
