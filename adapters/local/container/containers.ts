/**
 * What a server runs at the container engine: images that were built from a Dockerfile, and sources without one, which
 * get this machine's programs. Everything carries the server's label, by which the next one finds what this one left.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Container } from "dockerode";
import type { AccountId } from "../../../core/domain/account.ts";
import { GiB } from "../../../core/domain/limits.ts";
import type { Logger } from "../../../core/ports/system.ts";
import { ownerFolder } from "../builder/images.ts";
import { MARKER } from "../runner/launch.ts";
import type { Job, Limits, OnLine, OpenBind, Runner, Running } from "../runner/runner.ts";
import { Contained, type Prepared } from "./contained.ts";
import { type ContainerEngine, hasImage, statusOf } from "./engine.ts";
import { ensureHostImage, hostMounts } from "./host-image.ts";
import { MountPoints, mountsWithin } from "./mount-points.ts";
import { ensureNetwork, SCOPE } from "./network.ts";
import { type ContainerJob, imageCapabilities } from "./settings.ts";

/** A service whose image has everything that it needs. */
export interface ImageJob {
  /** Unique on this machine. */
  readonly id: string;
  readonly owner: AccountId;
  /** The engine's id of the image. */
  readonly image: string;
  readonly env: Readonly<Record<string, string>>;
  readonly folders: readonly OpenBind[];
  readonly limits: Limits;
  readonly port: { readonly inside: number; readonly host: number };
  readonly labels: Readonly<Record<string, string>>;
}

export interface Containers extends Runner {
  readonly kind: "container";
  readonly engine: ContainerEngine;
  readonly mountsWithin: boolean;
  /** For the engine's own files of this platform. */
  readonly folder: string;
  /** Ports of this machine at which base images may have a registry. */
  readonly allowedPorts: readonly number[];
  startImage(job: ImageJob, onLine: OnLine): Running;
  /** What an image that is built says of itself. */
  imageLabels(image: {
    readonly owner: AccountId;
    readonly service: string;
    readonly source: string;
  }): Readonly<Record<string, string>>;
  /** What an image is called at the engine. */
  tagOf(reference: string): string;
  /** The network in which an account's builds run their commands; undefined: the engine's default. */
  buildNetwork(owner: AccountId): Promise<string | undefined>;
  /** Throws where the engine does not answer. */
  hasImage(id: string): Promise<boolean>;
  /** Whether somebody removed an image from the engine; false where the engine does not answer soon. */
  lacksImage(id: string): Promise<boolean>;
  removeImage(id: string): Promise<void>;
  /** Removes what an earlier server built and did not come to write down. */
  sweepImages(known: ReadonlySet<string>): Promise<void>;
  /** Takes away what this server has made, its images left out. */
  close(): Promise<void>;
}

/** Bytes that a container may write beside its volumes. */
const containerDisk = 2 * GiB;
/** The label of images that were built here. */
const IMAGE = "portside.image";
const AGAIN_MS = 5000;
/** A list of deployments waits for the engine no longer than this. */
const ANSWER_MS = 1000;
const gone = [404, 409];

/** Whose an image says it is; anybody may have written the label. */
const scopeIn = (label: string | undefined): unknown => {
  try {
    return (JSON.parse(label ?? "null") as { scope?: unknown } | null)?.scope;
  } catch {
    return undefined;
  }
};

/** A build's commands may need a proxy or a registry that only the machine's own network has. */
const usesLoopback = (env: Readonly<Record<string, string>>): boolean =>
  Object.values(env).some((value) => /\/\/(?:[^/@]{1,200}@)?(?:localhost|127\.|\[::1\])/.test(value));

/** @param folder for its own files */
export const openContainers = async (
  engine: ContainerEngine,
  scope: string,
  folder: string,
  logger: Logger,
  allowedPorts: readonly number[] = [],
): Promise<Containers> => {
  const { docker } = engine;
  mkdirSync(folder, { recursive: true });
  const points = new MountPoints(join(folder, "mounts"));
  const mark = { [SCOPE]: scope };
  const labels = (owner: AccountId) => ({ ...mark, "portside.owner": ownerFolder(owner) });
  const network = `portside-${scope}`;
  const made = new Set<string>();
  const closing = new AbortController();

  const sweep = async (): Promise<void> => {
    await points.sweep();
    const filters = { label: [`${SCOPE}=${scope}`] };
    const left = await docker.listContainers({ all: true, filters });
    await Promise.all(left.map(({ Id }) => remove(docker.getContainer(Id))));
  };

  /** Removes it now, or when the engine answers again. */
  const remove = async (container: Container): Promise<void> => {
    try {
      // The engine does not answer while it waits for something in the container's image.
      await container.remove({ force: true, v: true, abortSignal: AbortSignal.timeout(AGAIN_MS) });
    } catch (error) {
      if (gone.includes(statusOf(error) ?? 0)) return;
      logger.warn("a container could not be removed yet", { container: container.id, cause: error });
      if (closing.signal.aborted) return;
      setTimeout(() => void remove(container), AGAIN_MS).unref();
    }
  };

  /** Neighbours on one network cannot be kept apart by Podman: there an account has one of its own. */
  const networkOf = async (owner: AccountId | undefined): Promise<string> => {
    const name = engine.name === "Docker" || owner === undefined ? network : `${network}-${ownerFolder(owner)}`;
    // Each time, for `docker network prune` takes away what nothing uses at the moment.
    await ensureNetwork(engine, name, scope);
    made.add(name);
    return name;
  };

  const user = engine.rootless ? "0:0" : `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`;

  const hostJob = async (job: Job): Promise<Prepared> => {
    const image = await ensureHostImage(engine, folder);
    const network = job.port === undefined && usesLoopback(job.env) ? "host" : await networkOf(job.owner);
    const { mounts, ended } = await points.take(job.id, job.folders ?? [], false);
    const own: ContainerJob = {
      id: job.id,
      image,
      argv: job.argv,
      cwd: job.cwd,
      user,
      env: { ...job.env, [MARKER]: job.id },
      mounts: [...hostMounts(), ...job.binds, ...mounts],
      limits: job.limits,
      network,
      ...(job.port === undefined ? {} : { port: { inside: job.port, host: job.port } }),
      readOnly: true,
      disk: 0,
      capabilities: [],
      labels: mark,
    };
    return { job: own, ended };
  };

  const imageJob = async ({ folders, owner, ...job }: ImageJob): Promise<Prepared> => {
    const network = await networkOf(owner);
    const { mounts, ended } = await points.take(job.id, folders, true);
    const own: ContainerJob = {
      ...job,
      argv: [],
      cwd: undefined,
      user: undefined,
      mounts,
      network,
      readOnly: false,
      disk: containerDisk,
      capabilities: imageCapabilities,
      labels: { ...job.labels, ...labels(owner) },
    };
    return { job: own, ended };
  };

  const removeImage = async (id: string): Promise<void> => {
    try {
      await docker.getImage(id).remove({ force: true });
    } catch (cause) {
      // In use by a container that ends, or gone: the next sweep sees.
      if (!gone.includes(statusOf(cause) ?? 0)) logger.warn("an image is left at the engine", { id, cause });
    }
  };

  await sweep();
  return {
    kind: "container",
    mapsPaths: true,
    mountsFolders: true,
    setsUser: "containers have users of their own",
    ownNetwork: false,
    mountsWithin,
    folder,
    allowedPorts,
    engine,
    start: (job, onLine) => new Contained(engine, job.id, () => hostJob(job), remove, onLine),
    // One, for the classic builder makes a layer of each.
    imageLabels: ({ owner, ...image }) => ({
      [IMAGE]: JSON.stringify({ scope, owner: ownerFolder(owner), ...image }),
    }),
    tagOf: (reference) => `portside-${scope}:${reference.slice(reference.indexOf("//") + 2).replace("/", "-")}`,
    // Podman's builder knows no networks by name.
    buildNetwork: async (owner) => (engine.name === "Docker" ? networkOf(owner) : undefined),
    hasImage: (id) => hasImage(engine, id),
    lacksImage: (id) => {
      const has = hasImage(engine, id).catch(() => true);
      return Promise.race([has.then((found) => !found), sleep(ANSWER_MS, false, { ref: false })]);
    },
    removeImage,
    sweepImages: async (known) => {
      const built = await docker.listImages({ filters: { label: [IMAGE] } }).catch((cause: unknown) => {
        logger.warn("images may be left at the engine", { cause });
        return [];
      });
      const own = built.filter(({ Labels }) => scopeIn(Labels?.[IMAGE]) === scope);
      for (const { Id } of own) if (!known.has(Id)) await removeImage(Id);
    },
    startImage: (job, onLine) => new Contained(engine, job.id, () => imageJob(job), remove, onLine),
    close: async () => {
      closing.abort();
      await sweep().catch((cause: unknown) => logger.warn("containers may be left at the engine", { cause }));
      for (const name of made)
        await docker
          .getNetwork(name)
          .remove()
          .catch((cause: unknown) => logger.warn("a container network is left at the engine", { name, cause }));
    },
  };
};
