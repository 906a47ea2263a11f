/**
 * Pulls the base images of a Dockerfile before the build, and checks their registries, platforms and triggers. An
 * ONBUILD trigger is a line that a base image adds to the Dockerfile:
 * https://docs.docker.com/reference/dockerfile/#onbuild
 */
import { lookup } from "node:dns/promises";
import { pipeline } from "node:stream/promises";
import type Docker from "dockerode";
import type { ImageInspectInfo } from "dockerode";
import { Parser } from "tar";
import { KeyedMutex } from "../../../shared/runtime/keyed-mutex.ts";
import { BuildError } from "../../builds/run-command.ts";
import { awaitProgress, type ContainerEngine, engineMessage, statusOf } from "../engine.ts";
import { explainBaseImageError } from "./build-output.ts";
import { readHostAddresses, registryBlockedReason, registryOf } from "./registries.ts";
import { type BaseImage, type Builder, type RefusedLine, validateDockerfile } from "./validate-dockerfile.ts";

const refusal = ({ line, text, why }: RefusedLine): BuildError =>
  new BuildError({
    reason: "build_failed",
    message: `Line ${line} of the Dockerfile (${text.slice(0, 100)}) ${why}.`,
  });

const checkRegistry = async (image: BaseImage, allowedPorts: readonly number[]): Promise<void> => {
  const registry = registryOf(image.name);
  if (registry === undefined) return;
  // If this process cannot resolve the host, the container engine cannot resolve it either, or uses a proxy.
  const found = await lookup(registry.host, { all: true }).catch(() => []);
  const addresses = found.map(({ address }) => address);
  const why = registryBlockedReason(registry, addresses, readHostAddresses(), allowedPorts);
  if (why !== undefined) throw refusal({ ...image, why });
};

/** Serializes pulls of the same image, because a second pull could tag a different image with the checked name. */
const pulls = new KeyedMutex();

const pull = async (docker: Docker, name: string, signal: AbortSignal): Promise<void> => {
  const isComplete = /[:@][^/]*$/.test(name);
  const progress = await docker.pull(isComplete ? name : `${name}:latest`, { abortSignal: signal });
  await awaitProgress(docker, progress);
};

/**
 * Caches triggers by image id. Podman's API does not report triggers, so Portside reads them from an exported image.
 */
const exportedTriggers = new Map<string, readonly string[]>();

const readExportedTriggers = async (docker: Docker, id: string): Promise<readonly string[]> => {
  const texts = new Map<string, string>();
  const parser = new Parser({
    onReadEntry: (entry) => {
      if (!/^[\w.-]+\.json$/.test(entry.path) || entry.type !== "File") return entry.resume();
      texts.set(entry.path, "");
      entry.on("data", (piece) => texts.set(entry.path, texts.get(entry.path) + piece.toString("latin1")));
    },
  });
  await pipeline(await docker.getImage(id).get(), parser as unknown as NodeJS.WritableStream);
  const [manifest] = JSON.parse(texts.get("manifest.json") ?? "") as [{ Config: string }];
  const { config } = JSON.parse(texts.get(manifest.Config) ?? "") as { config?: { OnBuild?: string[] | null } };
  return config?.OnBuild ?? [];
};

const triggersOf = async (engine: ContainerEngine, { Id, Config }: ImageInspectInfo): Promise<readonly string[]> => {
  if (engine.name === "Docker") return Config?.OnBuild ?? [];
  const triggers = exportedTriggers.get(Id) ?? (await readExportedTriggers(await engine.docker(), Id));
  exportedTriggers.set(Id, triggers);
  return triggers;
};

const inspectOrPull = (engine: ContainerEngine, name: string, signal: AbortSignal): Promise<ImageInspectInfo> =>
  pulls.take(name, signal, async () => {
    const docker = await engine.docker();
    const image = docker.getImage(name);
    return image.inspect().catch(async (error: unknown) => {
      if (statusOf(error) !== 404) throw error;
      await pull(docker, name, signal);
      return image.inspect();
    });
  });

const fetchImage = async (
  engine: ContainerEngine,
  image: BaseImage,
  signal: AbortSignal,
): Promise<ImageInspectInfo> => {
  try {
    return await inspectOrPull(engine, image.name, signal);
  } catch (error) {
    signal.throwIfAborted();
    // A system error code means that the container engine does not respond. Registry errors have a status or a numeric
    // code.
    const { code } = error as { code?: unknown };
    if (statusOf(error) === undefined && typeof code === "string") throw error;
    const message = engineMessage(error);
    const why = `needs the image ${image.name}, which could not be pulled: ${message}`;
    throw new BuildError({
      reason: "build_failed",
      message: explainBaseImageError(message) ?? refusal({ ...image, why }).message,
      logTail: [message],
    });
  }
};

/**
 * Pulls the missing base images. Rejects with `BuildError` if the Dockerfile or a base image is not allowed, or if a
 * pull fails.
 */
export const checkDockerfile = async (
  engine: ContainerEngine,
  dockerfile: string,
  builder: Builder,
  allowedPorts: readonly number[],
  signal: AbortSignal,
): Promise<void> => {
  const judged = validateDockerfile(dockerfile, builder);
  if ("refused" in judged) throw refusal(judged.refused);
  const known = new Set(judged.images.map(({ name }) => name));
  const images = [...judged.images];
  // Triggers may name further images.
  for (let image = images.shift(); image !== undefined; image = images.shift()) {
    await checkRegistry(image, allowedPorts);
    const found = await fetchImage(engine, image, signal);
    const platform = `${found.Os}/${found.Architecture}`;
    if (platform !== engine.platform) {
      // A builder would pull the image again, and might then use an image that was not checked.
      const why = `names an image for ${platform}, but the container engine's platform is ${engine.platform}. Use an image for that platform`;
      throw refusal({ ...image, why });
    }
    for (const trigger of await triggersOf(engine, found)) {
      const inner = validateDockerfile(trigger, builder, judged.stages);
      const within = `names an image with a trigger (ONBUILD ${trigger.slice(0, 100)}) that`;
      if ("refused" in inner)
        throw refusal({ ...image, why: `${within} ${inner.refused.why}. Or use another base image` });
      for (const { name } of inner.images) {
        if (!known.has(name)) images.push({ ...image, name });
        known.add(name);
      }
    }
  }
};
