/** The local ImageBuilder: unpack, detect, install, build, each in the sandbox. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { DeployFailure } from "../../../core/domain/deploy-reason.ts";
import type { BuildEvent, BuildRequest, ImageBuilder } from "../../../core/ports/image-builder.ts";
import type { Ids, Logger } from "../../../core/ports/system.ts";
import { narrate } from "../../shared/channel.ts";
import type { Limits, Runner } from "../runner/runner.ts";
import { detectSource, webCommand } from "./detect.ts";
import { extractSource } from "./extract.ts";
import { type ImageManifest, type ImageStore, ownerFolder } from "./images.ts";
import { buildNode } from "./node.ts";
import { buildPython } from "./python.ts";
import { BuildFailed, type Workshop } from "./steps.ts";
import type { Toolchain } from "./toolchain.ts";

/** Changes when the same source would be built otherwise than before. */
const BUILDER_VERSION = "1";

export interface BuilderConfig {
  readonly images: ImageStore;
  readonly runner: Runner;
  readonly toolchain: Toolchain;
  /** What the commands of one build may use. */
  readonly limits: Limits;
  readonly network: Readonly<Record<string, string>>;
  /** Kept between builds, a folder an account. */
  readonly cacheDir: string;
  /** Marks the processes of this server's builds. */
  readonly scope: string;
  readonly ids: Ids;
  readonly logger: Logger;
}

const referenceFor = (config: BuilderConfig, request: BuildRequest): string => {
  const parts = [request.source.digest, BUILDER_VERSION, config.runner.kind, process.version];
  const key = createHash("sha256").update(parts.join("\0")).digest("hex").slice(0, 32);
  return config.images.reference(request.owner, key);
};

const procfileCommand = (app: string): string => {
  const web = webCommand(readFileSync(join(app, "Procfile"), "utf8"));
  if ("failure" in web) throw new BuildFailed(web.failure);
  return web.command;
};

const buildSource = async (shop: Workshop, venvs: string): Promise<ImageManifest> => {
  const entries = readdirSync(shop.app, { withFileTypes: true });
  const names = entries.map((entry) => entry.name);
  const detected = detectSource(
    names,
    entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])),
  );
  if ("failure" in detected) throw new BuildFailed(detected.failure);
  const command = names.includes("Procfile") ? procfileCommand(shop.app) : undefined;
  shop.say(
    `Building a ${detected.kind === "procfile" ? "Procfile" : detected.kind === "node" ? "Node" : "Python"} source`,
  );
  switch (detected.kind) {
    case "node":
      return buildNode(shop, command);
    case "python":
      return buildPython(shop, venvs, command);
    case "procfile":
      return { kind: "procfile", command: command as string, path: [], needs: [] };
  }
};

const INTERRUPTED: DeployFailure = { reason: "interrupted", message: "The build was ended." };

/** Builds of the same image wait for each other, so that the second finds what the first made. */
const turns = () => {
  const last = new Map<string, Promise<unknown>>();
  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const turn = (last.get(key) ?? Promise.resolve()).then(work, work);
    last.set(key, turn);
    try {
      return await turn;
    } finally {
      if (last.get(key) === turn) last.delete(key);
    }
  };
};

export const createLocalBuilder = (config: BuilderConfig): ImageBuilder => {
  const inTurn = turns();
  const { images, runner, toolchain, limits, network, ids, logger } = config;

  const build = async (
    request: BuildRequest,
    reference: string,
    shop: Omit<Workshop, "app" | "cache">,
  ): Promise<BuildEvent> => {
    if (images.find(reference) !== undefined) {
      shop.say("This source was built before; its image is used again");
      return { kind: "built", image: reference };
    }
    const account = join(config.cacheDir, ownerFolder(request.owner));
    const cache = join(account, "home");
    try {
      await mkdir(cache, { recursive: true });
      const app = await images.begin(reference);
      await extractSource(request.source, app, shop.signal);
      const manifest = await buildSource({ ...shop, app, cache }, join(account, "venvs"));
      shop.signal.throwIfAborted();
      await images.complete(reference, manifest);
      return { kind: "built", image: reference };
    } catch (error) {
      await images.discard(reference);
      if (shop.signal.aborted) return { kind: "failed", failure: INTERRUPTED };
      if (error instanceof BuildFailed) return { kind: "failed", failure: error.failure };
      logger.error("a build failed for a reason of the platform's own", { deployId: request.deployId, cause: error });
      const full = (error as NodeJS.ErrnoException).code === "ENOSPC";
      const message = full ? "The platform's disk is full." : "The platform could not build the source.";
      return { kind: "failed", failure: { reason: full ? "provider_unavailable" : "internal", message } };
    }
  };

  return {
    build: (request, { signal = new AbortController().signal } = {}) =>
      narrate<BuildEvent, BuildEvent>((emit) => {
        const say = (message: string) => emit({ kind: "progress", message });
        const newId = () => `${config.scope}.${ids.id()}`;
        const reference = referenceFor(config, request);
        return inTurn(reference, () =>
          build(request, reference, { runner, toolchain, limits, network, say, signal, newId }),
        );
      }),
  };
};
