/** The local ImageBuilder: unpack, detect, install, build, each in the sandbox. */
import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import type { SourceFiles } from "../../../core/domain/deploy/source/files.ts";
import { planSource, type SourcePlan } from "../../../core/domain/deploy/source/plan.ts";
import type { BuildEvent, BuildRequest, ImageBuilder } from "../../../core/ports/image-builder.ts";
import type { Ids, Logger } from "../../../core/ports/system.ts";
import { STATIC_COMMAND } from "../../shared/deploy/static-site.ts";
import { surveySource } from "../../shared/deploy/survey-source.ts";
import { narrate, type Say } from "../../shared/runtime/channel.ts";
import { describeDiskFault, diskFaultOf } from "../../shared/runtime/disk-fault.ts";
import { KeyedMutex } from "../../shared/runtime/keyed-mutex.ts";
import { buildContainer, engineUnreachable } from "../containers/build/build.ts";
import type { Containers } from "../containers/containers.ts";
import { Allowance } from "../instances/pace-output.ts";
import type { Limits, Runner } from "../sandbox/runner.ts";
import { NoUserLeft, type UserOf } from "../sandbox/users/account-users.ts";
import { Extractor } from "./extract.ts";
import { type ImageManifest, type ImageStore, ownerFolder } from "./images.ts";
import { buildNode } from "./node.ts";
import { buildPython } from "./python.ts";
import { BuildFailed, type Workshop } from "./steps.ts";
import type { Toolchain } from "./toolchain.ts";

/** Changes when the same source would be built otherwise than before. */
const BUILDER_VERSION = "2";

export interface BuilderConfig {
  readonly images: ImageStore;
  readonly runner: Runner;
  /** Builds what has a Dockerfile; or in words why nothing does. */
  readonly containers: Containers | string;
  readonly toolchain: Toolchain;
  /** What the commands of one build may use. */
  readonly limits: Limits;
  readonly userOf: UserOf;
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

const KINDS = {
  node: "a Node source",
  python: "a Python source",
  procfile: "a Procfile source",
  static: "a static site",
};

const buildSource = async (shop: Workshop, plan: SourcePlan, venvs: string): Promise<ImageManifest> => {
  shop.say(`Building ${KINDS[plan.kind]}`);
  for (const warning of plan.warnings) shop.say(warning);
  switch (plan.kind) {
    case "node":
      return buildNode(shop, plan);
    case "python":
      return buildPython(shop, venvs, plan);
    case "procfile":
      return { kind: "procfile", command: plan.command, path: [], needs: [], requires: [] };
    case "static":
      return { kind: "static", command: STATIC_COMMAND, path: [], needs: [], requires: [] };
  }
};

const noEngine = (why: string): BuildFailed =>
  new BuildFailed({
    reason: "no_builder",
    message: `The source has a Dockerfile, and this platform has no container engine to build it with: ${why}. Install Docker or Podman and start the platform again, or remove the Dockerfile to build from package.json, requirements.txt or a Procfile.`,
  });

/** The failure that the deploy reports; undefined for a bug of the platform. */
const failureOf = (error: unknown): DeployFailure | undefined =>
  error instanceof BuildFailed || error instanceof NoUserLeft ? error.failure : undefined;

/** What an error of the platform's own comes to. */
const platformFailureOf = (error: unknown): DeployFailure => {
  const fault = diskFaultOf(error);
  if (fault === undefined) return { reason: "internal", message: "The platform could not build the source." };
  const message = describeDiskFault(fault, "the source could not be built", "Deploy again");
  return { reason: "provider_unavailable", message };
};

const INTERRUPTED: DeployFailure = { reason: "interrupted", message: "The build was ended." };

/** Lets a build take its share of this process's time, which serves every account, and turns in between. */
const pacedPrint = (say: Say<string>): Say<string> => {
  const allowance = new Allowance();
  const rest = async (taken: Promise<void>): Promise<void> => {
    const begun = performance.now();
    await taken;
    await (allowance.spend(performance.now() - begun) ?? turn());
  };
  return (message) => {
    const taken = say(message);
    return taken === undefined ? undefined : rest(taken);
  };
};

export const createLocalBuilder = (config: BuilderConfig): ImageBuilder => {
  const turns = new KeyedMutex();
  const extractor = new Extractor();
  const { images, runner, containers, toolchain, limits, network, ids, logger } = config;

  /** Whether it was built before, and nobody has removed it from the engine since. */
  const isThere = async (reference: string): Promise<boolean | DeployFailure> => {
    const image = images.find(reference);
    if (image?.kind !== "container") return image !== undefined;
    if (typeof containers === "string") return false;
    return containers.hasImage(image.id).catch((cause: unknown) => {
      logger.warn("the container engine does not answer", { cause });
      return engineUnreachable(containers.engine);
    });
  };

  const buildImage = async (
    { source, owner, name }: BuildRequest,
    reference: string,
    { say, print, signal }: Pick<Workshop, "say" | "print" | "signal">,
  ): Promise<ImageManifest> => {
    if (typeof containers === "string") throw noEngine(containers);
    const labels = containers.imageLabels({ owner, service: name, source: source.digest });
    const tag = containers.tagOf(reference);
    const within = await containers.buildNetwork(owner).catch((cause: unknown) => {
      logger.warn("a network for a build could not be made", { cause });
      throw new BuildFailed(engineUnreachable(containers.engine));
    });
    const account = ownerFolder(owner);
    const given = {
      source,
      owner: account,
      tag,
      labels,
      limits,
      network,
      within,
      allowedPorts: containers.allowedPorts,
      home: containers.folder,
      say,
      print,
      signal,
    };
    const id = await buildContainer(containers.engine, given);
    return { kind: "container", id };
  };

  const unpackAndBuild = async ({ source, owner }: BuildRequest, files: SourceFiles, shop: Workshop, venvs: string) => {
    const planned = planSource(files);
    if ("failure" in planned) throw new BuildFailed(planned.failure);
    await extractor.extract({ source, folder: shop.app, owner }, shop.signal);
    return buildSource(shop, planned.plan, venvs);
  };

  const build = async (
    request: BuildRequest,
    reference: string,
    shop: Omit<Workshop, "app" | "cache" | "user">,
  ): Promise<BuildEvent> => {
    const known = await isThere(reference);
    if (typeof known === "object") return { kind: "failed", failure: known };
    if (known) {
      shop.say("This source was built before; its image is used again");
      return { kind: "built", image: reference };
    }
    const account = join(config.cacheDir, ownerFolder(request.owner));
    const cache = join(account, "home");
    try {
      shop.signal.throwIfAborted();
      await mkdir(cache, { recursive: true, mode: 0o700 });
      const user = config.userOf(request.owner);
      const app = await images.begin(reference);
      const survey = await surveySource(request.source, shop.signal);
      const manifest =
        survey.kind === "dockerfile"
          ? await buildImage(request, reference, shop)
          : await unpackAndBuild(request, survey.files, { ...shop, app, cache, user }, join(account, "venvs"));
      shop.signal.throwIfAborted();
      await images.complete(reference, manifest);
      return { kind: "built", image: reference };
    } catch (error) {
      await images
        .discard(reference)
        .catch((cause: unknown) => logger.warn("a half-built image could not be removed", { reference, cause }));
      if (shop.signal.aborted) return { kind: "failed", failure: INTERRUPTED };
      const failure = failureOf(error);
      if (failure !== undefined) return { kind: "failed", failure };
      logger.error("a build failed for a reason of the platform's own", { deployId: request.deployId, cause: error });
      return { kind: "failed", failure: platformFailureOf(error) };
    }
  };

  return {
    build: (request, { signal = new AbortController().signal } = {}) =>
      narrate<BuildEvent, BuildEvent>((emit) => {
        const say = (message: string) => emit({ kind: "progress", message });
        const print = pacedPrint(say);
        const newId = () => `${config.scope}.${ids.id()}`;
        const reference = referenceFor(config, request);
        const shop = { runner, toolchain, limits, network, say, print, signal, newId, turns };
        // Builds of the same image wait for each other, so that the second finds what the first made.
        return turns
          .take(reference, signal, () => build(request, reference, shop))
          .catch((error: unknown) => {
            if (!signal.aborted) throw error;
            return { kind: "failed", failure: INTERRUPTED };
          });
      }),
  };
};
