/**
 * Runs services in the container engine: images built from a Dockerfile, and sources without one, which use this machine's
 * programs. Everything has the server's label, so that the next server can find and remove it.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Container } from "dockerode";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { GiB } from "../../../core/domain/accounts/limits.ts";
import type { Logger } from "../../../core/ports/system.ts";
import { ownerFolder } from "../builds/image-store.ts";
import {
  type Job,
  type Limits,
  MARKER,
  type OnLine,
  type OpenBind,
  type Runner,
  type Running,
} from "../sandbox/runner.ts";
import { type ContainerJob, imageCapabilities } from "./create-options.ts";
import { type ContainerEngine, hasImage, statusOf } from "./engine.ts";
import { ensureNetwork, SCOPE } from "./ensure-network.ts";
import { ensureHostImage, hostMounts } from "./host-image.ts";
import { MountPoints, mountsWithin } from "./mount-points.ts";
import { type PreparedContainer, RunningContainer } from "./running-container.ts";

/** A service whose image contains everything that it needs. */
export interface ImageJob {
  /** Unique on this machine. */
  readonly id: string;
  readonly owner: AccountId;
  /** The engine's image id. */
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
  /** The platform's folder for files that the engine uses, such as mount points. */
  readonly folder: string;
  /** Ports of this machine from which base images may be pulled. */
  readonly allowedPorts: readonly number[];
  startImage(job: ImageJob, onLine: OnLine): Running;
  /** Labels for a built image. */
  imageLabels(image: {
    readonly owner: AccountId;
    readonly service: string;
    readonly source: string;
  }): Readonly<Record<string, string>>;
  /** The image's name in the engine. */
  tagOf(reference: string): string;
  /** The network for commands of an account's builds; undefined means the engine's default. */
  buildNetwork(owner: AccountId): Promise<string | undefined>;
  /** Throws if the engine does not respond. */
  hasImage(id: string): Promise<boolean>;
  /** Whether someone removed an image from the engine; false if the engine does not respond soon. */
  lacksImage(id: string): Promise<boolean>;
  removeImage(id: string): Promise<void>;
  /** Removes images that an earlier server built but did not record. */
  sweepImages(known: ReadonlySet<string>): Promise<void>;
  /** Removes everything that this server has created except its images. */
  close(): Promise<void>;
}

/** Bytes that a container may write outside of its volumes. */
const containerDisk = 2 * GiB;
/** The label of images built here. */
const IMAGE = "portside.image";
const AGAIN_MS = 5000;
/** Maximum time that a list of deployments waits for the engine. */
const ANSWER_MS = 1000;
const gone = [404, 409];

/** The scope in an image's label, which anyone may have written. */
const scopeIn = (label: string | undefined): unknown => {
  try {
    return (JSON.parse(label ?? "null") as { scope?: unknown } | null)?.scope;
  } catch {
    return undefined;
  }
};

/** Whether a build's commands need a proxy or registry on the machine's loopback. */
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

  /** Removes the container, now or when the engine responds again. */
  const remove = async (container: Container): Promise<void> => {
    try {
      // The engine does not respond while it waits for something in the container's image.
      await container.remove({ force: true, v: true, abortSignal: AbortSignal.timeout(AGAIN_MS) });
    } catch (error) {
      if (gone.includes(statusOf(error) ?? 0)) return;
      logger.warn("could not remove a container; will retry", { container: container.id, cause: error });
      if (closing.signal.aborted) return;
      setTimeout(() => void remove(container), AGAIN_MS).unref();
    }
  };

  /** Podman cannot isolate containers in one network from each other, so each account gets its own network there. */
  const networkOf = async (owner: AccountId | undefined): Promise<string> => {
    const name = engine.name === "Docker" || owner === undefined ? network : `${network}-${ownerFolder(owner)}`;
    // Check every time, because `docker network prune` removes unused networks.
    await ensureNetwork(engine, name, scope);
    made.add(name);
    return name;
  };

  const user = engine.rootless ? "0:0" : `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`;

  const hostJob = async (job: Job): Promise<PreparedContainer> => {
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

  const imageJob = async ({ folders, owner, ...job }: ImageJob): Promise<PreparedContainer> => {
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
      // If a container still uses the image, the next sweep removes it.
      if (!gone.includes(statusOf(cause) ?? 0)) logger.warn("could not remove an image from the engine", { id, cause });
    }
  };

  await sweep();
  return {
    kind: "container",
    mapsPaths: true,
    mountsFolders: true,
    setsUser: "containers have their own users",
    ownNetwork: false,
    mountsWithin,
    folder,
    allowedPorts,
    engine,
    start: (job, onLine) => new RunningContainer(engine, job.id, () => hostJob(job), remove, onLine),
    // A single label, because the classic builder makes a layer for each.
    imageLabels: ({ owner, ...image }) => ({
      [IMAGE]: JSON.stringify({ scope, owner: ownerFolder(owner), ...image }),
    }),
    tagOf: (reference) => `portside-${scope}:${reference.slice(reference.indexOf("//") + 2).replace("/", "-")}`,
    // Podman's builder does not support named networks.
    buildNetwork: async (owner) => (engine.name === "Docker" ? networkOf(owner) : undefined),
    hasImage: (id) => hasImage(engine, id),
    lacksImage: (id) => {
      const has = hasImage(engine, id).catch(() => true);
      return Promise.race([has.then((found) => !found), sleep(ANSWER_MS, false, { ref: false })]);
    },
    removeImage,
    sweepImages: async (known) => {
      const built = await docker.listImages({ filters: { label: [IMAGE] } }).catch((cause: unknown) => {
        logger.warn("could not list the images in the engine; some may remain", { cause });
        return [];
      });
      const own = built.filter(({ Labels }) => scopeIn(Labels?.[IMAGE]) === scope);
      for (const { Id } of own) if (!known.has(Id)) await removeImage(Id);
    },
    startImage: (job, onLine) => new RunningContainer(engine, job.id, () => imageJob(job), remove, onLine),
    close: async () => {
      closing.abort();
      await sweep().catch((cause: unknown) =>
        logger.warn("could not remove all containers from the engine", { cause }),
      );
      for (const name of made)
        await docker
          .getNetwork(name)
          .remove()
          .catch((cause: unknown) => logger.warn("could not remove a network from the engine", { name, cause }));
    },
  };
};
