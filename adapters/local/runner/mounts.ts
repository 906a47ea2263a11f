/**
 * The volumes of an instance: bound at their real paths in a sandbox; elsewhere named in the environment, and linked at
 * their paths where this user may.
 */
import { lstatSync, mkdirSync, readlinkSync, symlinkSync, unlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import type { DeployFailure } from "../../../core/domain/deploy-reason.ts";
import type { BoundMount } from "../../../core/domain/mounts.ts";
import type { ServiceTemplate } from "../../../core/domain/service-template.ts";
import { APP } from "../builder/steps.ts";
import { Blocked, descend, type Folder, openRoot } from "../tenant-files/folder.ts";
import { hostFolders } from "./host-files.ts";
import type { OpenBind } from "./runner.ts";

export interface VolumeFolders {
  /** The host folder of a volume. */
  folderOf(bucket: string): string;
  /** Where they all are. */
  readonly under: string;
}

export interface InstanceMounts {
  readonly binds: readonly OpenBind[];
  readonly env: Readonly<Record<string, string>>;
  /** To be called once the instance was started: what it needs it has by then. */
  started(): Promise<void>;
  /** To be called when nothing of the instance is left. */
  ended(): void;
}

const partsOf = (path: string | undefined): string[] => path?.split("/") ?? [];

/** The mounted folder, open; a `sub_path` that is not there is made, and no link on the way is followed. */
const openMount = async (folders: VolumeFolders, { bucket, subPath }: BoundMount): Promise<Folder> => {
  const root = await openRoot(folders.folderOf(bucket));
  const parts = partsOf(subPath);
  if (parts.length === 0) return root;
  await using _root = root;
  return await descend(root, parts, true);
};

const isWithin = (path: string, folder: string): boolean => path.startsWith(`${folder}/`);

/** What the sandbox has of the host, read-only: no mount point can be made there. */
const hosts = ["/usr", ...hostFolders];

/** Makes the mount point, where it lies in what the sandbox has read-only; why not, where that cannot be. */
const makePoint = async (path: string, app: string): Promise<string | undefined> => {
  const host = hosts.find((folder) => isWithin(path, folder));
  if (host !== undefined) return `nothing can be mounted under ${host} on this platform; use a path such as '/data'`;
  if (path === APP) return `${APP} has the service's own files here; use a path such as '/data'`;
  if (!isWithin(path, APP)) return undefined;
  await using image = await openRoot(app);
  await using _point = await descend(image, partsOf(path.slice(APP.length + 1)), true);
  return undefined;
};

const unavailable = (mount: BoundMount, why: string): DeployFailure => ({
  reason: "volume_unavailable",
  message: `The volume '${mount.volume}' cannot be mounted at ${mount.path}: ${why}.`,
});

const whyOf = (error: unknown): string =>
  error instanceof Blocked ? `'${error.at}' is there, and is no folder` : "its folder cannot be opened";

/** Links that this process has made, and how many instances use each. */
const links = new Map<string, number>();

/** Links `path` to the folder; undefined where this user may not, or something else is there. */
const linkAt = (path: string, target: string, under: string): (() => void) | undefined => {
  try {
    const present = lstatSync(path, { throwIfNoEntry: false });
    if (present !== undefined && !present.isSymbolicLink()) return undefined;
    const leads = present === undefined ? undefined : readlinkSync(path);
    if (leads !== undefined && leads !== target) {
      // Another's, or of a server that was killed.
      if (links.has(path) || !isWithin(leads, under)) return undefined;
      unlinkSync(path);
    }
    if (leads !== target) {
      mkdirSync(dirname(path), { recursive: true });
      symlinkSync(target, path);
    }
  } catch {
    return undefined;
  }
  links.set(path, (links.get(path) ?? 0) + 1);
  return () => {
    const left = (links.get(path) ?? 1) - 1;
    if (left > 0) return void links.set(path, left);
    links.delete(path);
    try {
      unlinkSync(path);
    } catch {
      // Somebody was faster; it is gone.
    }
  };
};

/** What of a runner decides how volumes are mounted. */
export interface MountTarget {
  readonly mapsPaths: boolean;
  /** False where a folder within a volume cannot be mounted. */
  readonly mountsWithin?: boolean;
}

const NOT_WITHIN =
  "containers get a folder within a volume only where the platform runs as root; mount the whole volume";

/**
 * Opens what the instance mounts; or says why it cannot be.
 * @param app the folder with the built source; undefined: an image of its own, in which every path can be mounted at
 */
export const mountVolumes = async (
  runner: MountTarget,
  folders: VolumeFolders,
  { mounts }: ServiceTemplate,
  app: string | undefined,
): Promise<InstanceMounts | DeployFailure> => {
  const binds: OpenBind[] = [];
  const places: [string, string][] = [];
  const undo: (() => void)[] = [];
  const open: Folder[] = [];
  const started = async () => void (await Promise.all(open.splice(0).map((folder) => folder.close())));
  const fail = async (failure: DeployFailure) => {
    await started();
    for (const one of undo) one();
    return failure;
  };
  const mountOne = async (mount: BoundMount): Promise<DeployFailure | undefined> => {
    const folder = await openMount(folders, mount);
    open.push(folder);
    const within = partsOf(mount.subPath);
    if (runner.mapsPaths) {
      const problem = app === undefined ? undefined : await makePoint(mount.path, app);
      if (problem !== undefined) return unavailable(mount, problem);
      if (within.length > 0 && runner.mountsWithin === false) return unavailable(mount, NOT_WITHIN);
      const host = within.length === 0 ? folders.folderOf(mount.bucket) : undefined;
      binds.push({ fd: folder.handle.fd, host, inside: mount.path, writable: !mount.readOnly });
      return undefined;
    }
    const target = join(folders.folderOf(mount.bucket), ...within);
    const unlink = linkAt(mount.path, target, folders.under);
    if (unlink !== undefined) undo.push(unlink);
    places.push([mount.path, target]);
    return undefined;
  };
  for (const mount of mounts) {
    try {
      const failure = await mountOne(mount);
      if (failure !== undefined) return await fail(failure);
    } catch (error) {
      return await fail(unavailable(mount, whyOf(error)));
    }
  }
  const buckets = Object.fromEntries(mounts.map(({ path, bucket }) => [path, bucket]));
  return {
    binds,
    env: {
      PORTSIDE_VOLUMES: JSON.stringify(buckets),
      ...(runner.mapsPaths ? {} : { PORTSIDE_MOUNTS: JSON.stringify(Object.fromEntries(places)) }),
    },
    started,
    ended: () => {
      for (const one of undo) one();
    },
  };
};
