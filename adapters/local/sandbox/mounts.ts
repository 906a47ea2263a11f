/**
 * Mounts the volumes of an instance. A sandbox or container mounts the volumes at the declared paths. A plain process
 * gets the paths of the volumes' folders in PORTSIDE_MOUNTS, and symbolic links at the mount paths if this user may
 * create them.
 */
import { lstatSync, readlinkSync, symlinkSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import type { ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";
import type { BoundMount } from "../../../core/domain/volumes/mounts.ts";
import { KeyedMutex } from "../../shared/runtime/keyed-mutex.ts";
import { tryOr } from "../../shared/runtime/try-or.ts";
import { APP } from "../builds/run-command.ts";
import { chownTree } from "../tenant-files/chown-tree.ts";
import { descend, type Folder, NotAFolder, openRoot } from "../tenant-files/folder.ts";
import { hostFolders } from "./host-files.ts";
import type { OpenBind } from "./runner.ts";

export interface VolumeFolders {
  folderOf(bucket: string): string;
  /** The parent of all volume folders. */
  readonly under: string;
}

export interface InstanceMounts {
  readonly binds: readonly OpenBind[];
  readonly env: Readonly<Record<string, string>>;
  /** Closes the open folders. The caller must call this method when the instance has started or has failed to start. */
  closeFolders(): Promise<void>;
  /** Removes the links. The caller must call this method when no process of the instance is left. */
  removeLinks(): void;
}

const partsOf = (path: string | undefined): string[] => path?.split("/") ?? [];

/**
 * Gives the volume's files to the service's user, which takes time if they belong to another user. A container may run
 * as any user. For a container, the volume's folder therefore belongs to root, and every user may write to it. The next
 * service with a fixed user then takes over all files.
 */
const chownVolume = async ({ handle }: Folder, user: number | undefined, readOnly: boolean): Promise<void> => {
  if (process.getuid?.() !== 0) return;
  if (user !== undefined) return chownTree(handle.fd, user);
  if (readOnly || (await handle.stat()).uid === 0) return;
  await handle.chown(0, 0);
  await handle.chmod(0o777);
};

/** Opens the mounted folder. Creates a missing `sub_path` and does not follow symbolic links. */
const openMount = async (
  folders: VolumeFolders,
  { bucket, subPath, readOnly }: BoundMount,
  user: number | undefined,
): Promise<Folder> => {
  const parts = partsOf(subPath);
  const root = await openRoot(folders.folderOf(bucket));
  let mounted: Folder | undefined;
  try {
    await chownVolume(root, user, readOnly);
    // Only root can give a folder to another user.
    mounted = await descend(root, parts, true, process.getuid?.() === 0 ? user : undefined);
    return mounted;
  } finally {
    if (mounted !== root) await root.close();
  }
};

const isWithin = (path: string, folder: string): boolean => path.startsWith(`${folder}/`);

/** Folders of this machine that the sandbox mounts read-only, so no mount point can be created in them. */
const hosts = ["/usr", ...hostFolders];

/** The parts of a built source that the sandbox mounts. */
export interface MountedImage {
  /** The folder with the built source. */
  readonly app: string;
  /**
   * Program folders, mounted at their own paths. They cannot contain mount points, because bubblewrap would follow
   * symbolic links that a build left in them.
   */
  readonly programs: readonly string[];
}

/** Creates the mount point if it is within the read-only source. Returns the reason if the path cannot be used. */
const createMountPoint = async (path: string, { app, programs }: MountedImage): Promise<string | undefined> => {
  const host = [...hosts, ...programs].find((folder) => path === folder || isWithin(path, folder));
  if (host !== undefined) return `nothing can be mounted under ${host} on this platform; use a path such as '/data'`;
  if (path === APP) return `${APP} contains the service's own files; use a path such as '/data'`;
  if (!isWithin(path, APP)) return undefined;
  await using image = await openRoot(app);
  await using _point = await descend(image, partsOf(path.slice(APP.length + 1)), true);
  return undefined;
};

const unavailable = (mount: BoundMount, why: string): DeployFailure => ({
  reason: "volume_unavailable",
  message: `The volume '${mount.volume}' cannot be mounted at ${mount.path}: ${why}.`,
});

const mountProblem = (error: unknown): string =>
  error instanceof NotAFolder
    ? `'${error.at}' exists and is not a folder`
    : "its folder or the mount point cannot be opened";

interface Link {
  /** The folder that contains the link. It stays open because its path may lead elsewhere when the link is removed. */
  readonly folder: Folder;
  readonly name: string;
  readonly target: string;
  instances: number;
}

/** The links that this process has created, by path. */
const links = new Map<string, Link>();
const linking = new KeyedMutex();

const targetOf = (folder: Folder, name: string): string | undefined => {
  const present = lstatSync(folder.at(name), { throwIfNoEntry: false });
  if (present === undefined) return undefined;
  return present.isSymbolicLink() ? readlinkSync(folder.at(name)) : "";
};

const openLinkFolder = async (path: string, target: string): Promise<Link> => {
  const parts = partsOf(path.slice(1));
  const name = parts.pop() as string;
  const root = await openRoot("/");
  if (parts.length === 0) return { folder: root, name, target, instances: 0 };
  await using _root = root;
  return { folder: await descend(root, parts, true), name, target, instances: 0 };
};

/** Creates the link. Returns false if its path is in use. */
const makeLink = ({ folder, name, target, instances }: Link, under: string): boolean => {
  const present = targetOf(folder, name);
  if (present === target) return true;
  // An unused link to another volume is left over from a server that was killed.
  if (present !== undefined && (instances > 0 || !isWithin(present, under))) return false;
  if (present !== undefined) unlinkSync(folder.at(name));
  symlinkSync(target, folder.at(name));
  return true;
};

const takeLink = async (path: string, target: string, under: string): Promise<Link | undefined> => {
  const link = links.get(path) ?? (await openLinkFolder(path, target));
  // This user may lack the right to create the link.
  if (link.target === target && tryOr(() => makeLink(link, under), false)) return link;
  if (link.instances === 0) await link.folder.close();
  return undefined;
};

/** Links `path` to the folder. Returns a function that removes the link, or undefined if the link cannot be created. */
const linkAt = (path: string, target: string, under: string): Promise<(() => void) | undefined> =>
  linking.take(path, new AbortController().signal, async () => {
    const link = await takeLink(path, target, under).catch(() => undefined);
    if (link === undefined) return undefined;
    links.set(path, link);
    link.instances++;
    return () => {
      if (--link.instances > 0) return;
      links.delete(path);
      try {
        if (targetOf(link.folder, link.name) === target) unlinkSync(link.folder.at(link.name));
      } catch {
        // Another program has removed the link.
      }
      void link.folder.close();
    };
  });

/** The properties of a runner that determine how volumes are mounted. */
export interface MountTarget {
  readonly mapsPaths: boolean;
  /** False if the runner cannot mount a folder within a volume. */
  readonly mountsWithin?: boolean;
}

const NOT_WITHIN =
  "containers can mount a folder within a volume only if the platform runs as root; mount the whole volume";

/**
 * Opens the folders that the instance mounts, or returns the failure of the first one that cannot be mounted.
 * @param image undefined for a container image, which accepts mounts at every path
 * @param user the user of the service; undefined for a container, which may run as any user
 */
export const mountVolumes = async (
  runner: MountTarget,
  folders: VolumeFolders,
  { mounts }: ServiceTemplate,
  image: MountedImage | undefined,
  user: number | undefined,
): Promise<InstanceMounts | DeployFailure> => {
  const binds: OpenBind[] = [];
  const targets: [string, string][] = [];
  const undo: (() => void)[] = [];
  const open: Folder[] = [];
  const closeFolders = async () => void (await Promise.all(open.splice(0).map((folder) => folder.close())));
  const removeLinks = () => {
    for (const one of undo) one();
  };
  const fail = async (failure: DeployFailure) => {
    await closeFolders();
    removeLinks();
    return failure;
  };
  const mountOne = async (mount: BoundMount): Promise<DeployFailure | undefined> => {
    const folder = await openMount(folders, mount, user);
    open.push(folder);
    const within = partsOf(mount.subPath);
    if (runner.mapsPaths) {
      const problem = image === undefined ? undefined : await createMountPoint(mount.path, image);
      if (problem !== undefined) return unavailable(mount, problem);
      if (within.length > 0 && runner.mountsWithin === false) return unavailable(mount, NOT_WITHIN);
      const host = within.length === 0 ? folders.folderOf(mount.bucket) : undefined;
      binds.push({ fd: folder.handle.fd, host, inside: mount.path, writable: !mount.readOnly });
      return undefined;
    }
    const target = join(folders.folderOf(mount.bucket), ...within);
    const unlink = await linkAt(mount.path, target, folders.under);
    if (unlink !== undefined) undo.push(unlink);
    targets.push([mount.path, target]);
    return undefined;
  };
  for (const mount of mounts) {
    try {
      const failure = await mountOne(mount);
      if (failure !== undefined) return await fail(failure);
    } catch (error) {
      return await fail(unavailable(mount, mountProblem(error)));
    }
  }
  const buckets = Object.fromEntries(mounts.map(({ path, bucket }) => [path, bucket]));
  const env = {
    PORTSIDE_VOLUMES: JSON.stringify(buckets),
    ...(runner.mapsPaths ? {} : { PORTSIDE_MOUNTS: JSON.stringify(Object.fromEntries(targets)) }),
  };
  return { binds, env, closeFolders, removeLinks };
};
