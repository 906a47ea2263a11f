/**
 * Creates an image without programs, for sources without a Dockerfile. Its containers mount this machine's programs, as
 * sandboxes do.
 */
import { createHash } from "node:crypto";
import { existsSync, lstatSync, mkdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { create } from "tar";
import { hostFolders, readableEtc } from "../sandbox/host-files.ts";
import type { Bind } from "../sandbox/runner.ts";
import { awaitProgress, type ContainerEngine, hasImage } from "./engine.ts";

/** Docker mounts its init in /sbin, so /sbin must not be a link into a read-only mount. */
const SBIN = "/sbin";
const folders = ["etc", "tmp", "proc", "sys", "dev", "run", "var", "usr", SBIN.slice(1)];
const taken = hostFolders.filter((path) => path !== SBIN);

const isLink = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;

const accounts = (): Record<string, string> => {
  const [user, group] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  const own = user === 0 ? "" : `service:x:${user}:${group}:service:/tmp:/bin/sh\n`;
  return {
    passwd: `root:x:0:0:root:/tmp:/bin/sh\n${own}nobody:x:65534:65534:nobody:/tmp:/bin/sh\n`,
    group: `root:x:0:\n${user === 0 ? "" : `service:x:${group}:\n`}nogroup:x:65534:\n`,
  };
};

/** Returns the folders, links and files in the image, by path. */
const content = () => ({
  folders: [...folders, ...taken.filter((path) => existsSync(path) && !isLink(path)).map((path) => path.slice(1))],
  links: taken.filter(isLink).map((path) => [path.slice(1), readlinkSync(path)] as const),
  files: Object.entries(accounts()).map(([name, text]) => [join("etc", name), text] as const),
});

/**
 * Returns the image's name. Creates the image if it does not exist.
 * @param folder holds the image's files while the image is being created
 */
export const ensureHostImage = async (engine: ContainerEngine, folder: string): Promise<string> => {
  const { folders: made, links, files } = content();
  const digest = createHash("sha256").update(JSON.stringify({ made, links, files })).digest("hex").slice(0, 16);
  const name = `portside-host:${digest}`;
  if (await hasImage(engine, name)) return name;
  const root = join(folder, `host-image-${digest}`);
  rmSync(root, { recursive: true, force: true });
  for (const path of made) mkdirSync(join(root, path), { recursive: true });
  for (const [path, target] of links) symlinkSync(target, join(root, path));
  for (const [path, text] of files) writeFileSync(join(root, path), text);
  const archive = create({ cwd: root, portable: true }, ["."]);
  const [repo] = name.split(":");
  const docker = await engine.docker();
  const progress = await docker.importImage(archive as unknown as NodeJS.ReadableStream, { repo, tag: digest });
  await awaitProgress(docker, progress);
  rmSync(root, { recursive: true, force: true });
  return name;
};

/** Returns read-only mounts of this machine's programs, and of the files that they read, at the same paths. */
export const hostMounts = (): Bind[] =>
  ["/usr", ...taken.filter((path) => existsSync(path) && !isLink(path)), ...readableEtc.map((name) => `/etc/${name}`)]
    .filter((path) => existsSync(path) && path !== "/etc/resolv.conf" && path !== "/etc/hosts")
    .map((path) => ({ host: path, inside: path, writable: false }));
