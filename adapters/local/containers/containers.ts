/**
 * Runs services in the container engine. A source with a Dockerfile runs from its built image. A source without one
 * runs with this machine's programs. Each container has a label with the scope of its server, so the next server can
 * find and remove leftover containers. Another label has the mark of its server, because servers can share a scope.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Container, ContainerInfo, ImageInfo, NetworkInspectInfo } from "dockerode";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { GiB } from "../../../core/domain/accounts/limits.ts";
import type { Logger } from "../../../core/ports/system.ts";
import { tryOr } from "../../shared/runtime/try-or.ts";
import { ownerFolder } from "../builds/image-store.ts";
import { containerFreezer, groupsOf } from "../sandbox/freezer.ts";
import { type Bind, type Job, MARKER, type OnOutput, type OpenBind } from "../sandbox/runner.ts";
import { type ContainerJob, imageCapabilities } from "./create-options.ts";
import { type ContainerEngine, hasImage, statusOf } from "./engine.ts";
import { ensureNetwork, SCOPE } from "./ensure-network.ts";
import { ensureHostImage, hostMounts } from "./host-image.ts";
import { MountPoints, mountsWithin } from "./mount-points.ts";
import { type PreparedContainer, RunningContainer } from "./running-container.ts";

/** A service whose image contains everything that it needs. */
interface ImageJob extends Pick<ContainerJob, "id" | "image" | "env" | "limits" | "labels"> {
  readonly owner: AccountId;
  readonly folders: readonly OpenBind[];
  /** Paths of this machine to which no service can write. */
  readonly binds: readonly Bind[];
  readonly port: NonNullable<ContainerJob["port"]>;
}

interface BuiltImage {
  readonly owner: AccountId;
  readonly service: string;
  readonly source: string;
}

/** The runner for containers, with the operations on images that builds need. */
export type Containers = Awaited<ReturnType<typeof openContainers>>;

/** The number of bytes that a container may write outside the volumes of its account. */
const containerDisk = 2 * GiB;
/** The label with the mark of the server that created the container. Containers of earlier versions lack it. */
const MARK = "portside.mark";
/** The label on images that a server on this machine built. */
const IMAGE = "portside.image";
const RETRY_MS = 5000;
/** The maximum time that a request for the list of deployments waits for the container engine. */
const RESPONSE_TIMEOUT_MS = 1000;
const gone = [404, 409];

/**
 * Returns the scope in an image's label. The label is untrusted, because other programs may create images with the same
 * label.
 */
const scopeIn = (label: string | undefined): unknown =>
  tryOr(() => (JSON.parse(label ?? "null") as { scope?: unknown } | null)?.scope, undefined);

/** Returns the query parameter that selects containers or images by a label. */
const filtersFor = (label: string): string => encodeURIComponent(JSON.stringify({ label: [label] }));

/** Returns whether the commands of a build need a proxy or registry on the machine's loopback address. */
const usesLoopback = (env: Readonly<Record<string, string>>): boolean =>
  Object.values(env).some((value) => /\/\/(?:[^/@]{1,200}@)?(?:localhost|127\.|\[::1\])/.test(value));

export interface ContainersConfig {
  /** Identifies the containers and networks. The next start removes the containers with this scope. */
  readonly scope: string;
  /** Identifies the containers that `close` removes. */
  readonly mark: string;
  /** Returns false while another process owns the scope. Defaults to true. */
  readonly ownsScope?: () => boolean;
  /** Identifies the data folder that images belong to. */
  readonly imageScope: string;
  /** Contains files that the container engine uses, such as mount points. */
  readonly folder: string;
  readonly logger: Logger;
  /** Ports of this machine from which base images may be pulled. */
  readonly allowedPorts: readonly number[];
}

export const openContainers = async (engine: ContainerEngine, config: ContainersConfig) => {
  const { scope, mark, ownsScope = () => true, imageScope, folder, logger, allowedPorts } = config;
  mkdirSync(folder, { recursive: true });
  const mountPoints = new MountPoints(join(folder, "mounts"));
  const isOwn = (id: string) => id.startsWith(`${mark}.`);
  const ownLabels = { [SCOPE]: scope, [MARK]: mark };
  const network = `portside-${scope}`;
  const closing = new AbortController();

  const inScope = filtersFor(`${SCOPE}=${scope}`);
  const listContainers = async () =>
    (await engine.get(`/containers/json?all=true&filters=${inScope}`)) as readonly ContainerInfo[];

  /**
   * Thaws a container that a killed server froze. With version 1 of control groups, SIGKILL does not end a frozen
   * process, and only some runtimes thaw the group first: https://github.com/opencontainers/runc/pull/3217
   */
  const thaw = async (container: Container): Promise<void> => {
    if (!engine.sharesKernel) return;
    const details = await container.inspect().catch(() => undefined);
    const freezer = containerFreezer(groupsOf(details?.State.Pid ?? 0), container.id);
    // The container may have ended.
    tryOr(() => freezer?.thaw(), undefined);
  };

  /** Removes this server's containers, or those of other servers of the scope. */
  const removeContainers = async (own: boolean): Promise<void> => {
    await mountPoints.sweep((id) => isOwn(id) === own);
    const selected = (await listContainers()).filter(({ Labels }) => (Labels[MARK] === mark) === own);
    if (selected.length === 0) return;
    const docker = await engine.docker();
    const removeOne = async (container: Container) => {
      await thaw(container);
      await remove(container);
    };
    await Promise.all(selected.map(({ Id }) => removeOne(docker.getContainer(Id))));
  };

  const removeOthers = () => removeContainers(false);

  /** Removes the networks of the scope, unless a container of another server uses them. */
  const removeNetworks = async (): Promise<void> => {
    if ((await listContainers()).length > 0) return;
    const networks = (await engine.get(`/networks?filters=${inScope}`)) as readonly NetworkInspectInfo[];
    if (networks.length === 0) return;
    const docker = await engine.docker();
    for (const { Id, Name } of networks)
      await docker
        .getNetwork(Id)
        .remove()
        .catch((cause: unknown) =>
          logger.warn("could not remove a network from the container engine", { name: Name, cause }),
        );
  };

  /** Removes the container. After an error, retries until the container is removed or the server closes. */
  const remove = async (container: Container): Promise<void> => {
    try {
      // The container engine may block on a file in the container's image, such as a pipe, and then does not respond.
      await container.remove({ force: true, v: true, abortSignal: AbortSignal.timeout(RETRY_MS) });
    } catch (error) {
      if (gone.includes(statusOf(error) ?? 0)) return;
      const next = closing.signal.aborted ? "the next start removes it" : "will retry";
      logger.warn(`could not remove a container; ${next}`, { container: container.id, cause: error });
      if (closing.signal.aborted) return;
      setTimeout(() => void remove(container), RETRY_MS).unref();
    }
  };

  /**
   * With Podman, each account gets a separate network, because Podman cannot isolate containers in the same network.
   */
  const networkOf = async (owner: AccountId | undefined): Promise<string> => {
    const name = engine.name === "Docker" || owner === undefined ? network : `${network}-${ownerFolder(owner)}`;
    // Check every time, because `docker network prune` removes unused networks.
    await ensureNetwork(engine, name, scope);
    return name;
  };

  const user = engine.rootless ? "0:0" : `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`;

  const hostJob = async (job: Job): Promise<PreparedContainer> => {
    const image = await ensureHostImage(engine, folder);
    const network = job.port === undefined && usesLoopback(job.env) ? "host" : await networkOf(job.owner);
    const { mounts, cleanUp } = await mountPoints.mount(job.id, job.folders ?? [], false);
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
      labels: ownLabels,
    };
    return { job: own, cleanUp };
  };

  const imageJob = async ({ folders, binds, owner, ...job }: ImageJob): Promise<PreparedContainer> => {
    const network = await networkOf(owner);
    const { mounts, cleanUp } = await mountPoints.mount(job.id, folders, true);
    const own: ContainerJob = {
      ...job,
      argv: [],
      cwd: undefined,
      user: undefined,
      mounts: [...binds, ...mounts],
      network,
      readOnly: false,
      disk: containerDisk,
      capabilities: imageCapabilities,
      labels: { ...job.labels, ...ownLabels, "portside.owner": ownerFolder(owner) },
    };
    return { job: own, cleanUp };
  };

  const removeImage = async (id: string): Promise<void> => {
    try {
      const docker = await engine.docker();
      await docker.getImage(id).remove({ force: true });
    } catch (cause) {
      // If a container still uses the image, the next sweep removes the image.
      if (!gone.includes(statusOf(cause) ?? 0))
        logger.warn("could not remove an image from the container engine", { id, cause });
    }
  };

  if (ownsScope()) await removeOthers();
  return {
    kind: "container" as const,
    mapsPaths: true,
    mountsFolders: true,
    setsUser: "containers have their own users",
    ownNetwork: false,
    mountsWithin,
    folder,
    allowedPorts,
    engine,
    start: (job: Job, onOutput: OnOutput) =>
      new RunningContainer(engine, { id: job.id, prepare: () => hostJob(job), remove, onOutput }),
    startImage: (job: ImageJob, onOutput: OnOutput) =>
      new RunningContainer(engine, { id: job.id, prepare: () => imageJob(job), remove, onOutput }),
    /** Returns a single label, because the classic builder creates a layer for each label. */
    imageLabels: ({ owner, ...image }: BuiltImage) => ({
      [IMAGE]: JSON.stringify({ scope: imageScope, owner: ownerFolder(owner), ...image }),
    }),
    /** Returns the image's name in the container engine. */
    tagOf: (reference: string) =>
      `portside-${imageScope}:${reference.slice(reference.indexOf("//") + 2).replace("/", "-")}`,
    /**
     * Returns the network for the commands of an account's builds. With Podman, returns undefined, which selects the
     * default network, because Podman's builder does not support named networks.
     */
    buildNetwork: async (owner: AccountId) => (engine.name === "Docker" ? networkOf(owner) : undefined),
    /** Rejects if the container engine does not respond. */
    hasImage: (id: string) => hasImage(engine, id),
    /**
     * Returns whether the image is missing from the container engine; false if the container engine does not respond in
     * time.
     */
    lacksImage: (id: string) => {
      const has = hasImage(engine, id).catch(() => true);
      return Promise.race([has.then((found) => !found), sleep(RESPONSE_TIMEOUT_MS, false, { ref: false })]);
    },
    removeImage,
    /** Removes the data folder's images that are not in `known`, such as those of an interrupted build. */
    sweepImages: async (known: ReadonlySet<string>) => {
      const listed = engine.get(`/images/json?filters=${filtersFor(IMAGE)}`) as Promise<readonly ImageInfo[]>;
      const built = await listed.catch((cause: unknown) => {
        logger.warn("could not list the images in the container engine; some may remain", { cause });
        return [];
      });
      const own = built.filter(({ Labels }) => scopeIn(Labels?.[IMAGE]) === imageScope);
      for (const { Id } of own) if (!known.has(Id)) await removeImage(Id);
    },
    /** Removes the containers of the scope's other servers. The caller must ensure that those servers have ended. */
    removeOthers,
    /** Removes this server's containers, and the networks of the scope, but not its images. */
    close: async () => {
      closing.abort();
      try {
        await removeContainers(true);
        if (ownsScope()) await removeNetworks();
      } catch (cause) {
        logger.warn("could not remove all containers from the container engine", { cause });
      }
    },
  };
};
