/**
 * The local ImageBuilder: detects the kind of the source, unpacks the source, and runs install and build commands in
 * the sandbox. Builds a source with a Dockerfile in the container engine.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import type { SourceFiles } from "../../../core/domain/deploy/source/files.ts";
import { planSource, type SourcePlan } from "../../../core/domain/deploy/source/plan.ts";
import type { BuildEvent, BuildRequest, ImageBuilder } from "../../../core/ports/image-builder.ts";
import type { Ids, Logger } from "../../../core/ports/system.ts";
import { STATIC_COMMAND } from "../../shared/deploy/static-site.ts";
import { surveySource } from "../../shared/deploy/survey-source.ts";
import { type EmitProgress, streamProgress } from "../../shared/runtime/channel.ts";
import { describeDiskFault, diskFaultOf } from "../../shared/runtime/disk-fault.ts";
import { KeyedMutex } from "../../shared/runtime/keyed-mutex.ts";
import { buildContainer, engineUnreachable } from "../containers/build/build-container.ts";
import type { Containers } from "../containers/containers.ts";
import { Allowance } from "../instances/pace-output.ts";
import type { Limits, Runner } from "../sandbox/runner.ts";
import { NoUserLeft, type UserOf } from "../sandbox/users/account-users.ts";
import { buildNode } from "./build-node.ts";
import { buildPython } from "./build-python.ts";
import { Extractor } from "./extract.ts";
import { cacheKey, type ImageManifest, type ImageStore, ownerFolder } from "./image-store.ts";
import { type BuildContext, BuildError } from "./run-command.ts";
import type { Toolchain } from "./toolchain.ts";

/** Part of the image's key. Increase it if a change to the builder affects the images of unchanged sources. */
const BUILDER_VERSION = "3";

export interface BuilderConfig {
  readonly images: ImageStore;
  readonly runner: Runner;
  /** Builds sources with a Dockerfile. A string is the reason why no container engine is available. */
  readonly containers: Containers | string;
  readonly toolchain: Toolchain;
  /** The limits on each command of a build. */
  readonly limits: Limits;
  readonly userOf: UserOf;
  readonly network: Readonly<Record<string, string>>;
  /** Contains one folder per account, which the account's builds share. */
  readonly cacheDir: string;
  /** The ids of this server's builds start with this mark and a dot. */
  readonly mark: string;
  readonly ids: Ids;
  readonly logger: Logger;
}

const referenceFor = (config: BuilderConfig, request: BuildRequest): string => {
  const key = cacheKey([request.source.digest, BUILDER_VERSION, config.runner.kind, process.version]);
  return config.images.reference(request.owner, key);
};

const KINDS = {
  node: "a Node source",
  python: "a Python source",
  procfile: "a Procfile source",
  static: "a static site",
};

const buildSource = async (context: BuildContext, plan: SourcePlan, venvs: string): Promise<ImageManifest> => {
  context.say(`Building ${KINDS[plan.kind]}`);
  for (const warning of plan.warnings) context.say(warning);
  switch (plan.kind) {
    case "node":
      return buildNode(context, plan);
    case "python":
      return buildPython(context, venvs, plan);
    case "procfile":
      return { kind: "procfile", command: plan.command, path: [], needs: [], requires: [] };
    case "static":
      return { kind: "static", command: STATIC_COMMAND, path: [], needs: [], requires: [] };
  }
};

const noEngine = (why: string): BuildError =>
  new BuildError({
    reason: "no_builder",
    message: `The source has a Dockerfile, but this platform has no container engine: ${why}. Install Docker or Podman and restart the platform, or remove the Dockerfile to build from package.json, requirements.txt or a Procfile.`,
  });

/** Returns the deploy's failure; undefined if the platform caused the error. */
const failureOf = (error: unknown): DeployFailure | undefined =>
  error instanceof BuildError || error instanceof NoUserLeft ? error.failure : undefined;

/** Returns the failure for an error of the platform: a disk error or a bug. */
const platformFailureOf = (error: unknown): DeployFailure => {
  const fault = diskFaultOf(error);
  if (fault === undefined)
    return {
      reason: "internal",
      message: "The platform could not build the source. The operator can find the reason in the server's log.",
    };
  const message = describeDiskFault(fault, "the source could not be built", "Deploy again");
  return { reason: "provider_unavailable", message };
};

const INTERRUPTED: DeployFailure = { reason: "interrupted", message: "The build was cancelled." };

/** Limits the share of this process's time that a build's output takes, and yields to the event loop between lines. */
const pacePrint = (say: EmitProgress<string>): EmitProgress<string> => {
  const allowance = new Allowance();
  const rest = async (taken: Promise<void>): Promise<void> => {
    const begun = performance.now();
    await taken;
    await (allowance.spend(performance.now() - begun) ?? yieldToEventLoop());
  };
  return (message) => {
    const taken = say(message);
    return taken === undefined ? undefined : rest(taken);
  };
};

export const createLocalBuilder = (config: BuilderConfig): ImageBuilder => {
  const mutex = new KeyedMutex();
  const extractor = new Extractor();
  const { images, runner, containers, toolchain, limits, network, ids, logger } = config;

  /** Returns whether the image exists, or a failure if the container engine does not respond. */
  const isBuilt = async (reference: string): Promise<boolean | DeployFailure> => {
    const image = images.find(reference);
    if (image?.kind !== "container") return image !== undefined;
    if (typeof containers === "string") return false;
    return containers.hasImage(image.id).catch((cause: unknown) => {
      logger.warn("the container engine does not respond", { cause });
      return engineUnreachable(containers.engine);
    });
  };

  const buildImage = async (
    { source, owner, name }: BuildRequest,
    reference: string,
    context: Pick<BuildContext, "limits" | "network" | "say" | "print" | "signal">,
  ): Promise<ImageManifest> => {
    if (typeof containers === "string") throw noEngine(containers);
    const networkName = await containers.buildNetwork(owner).catch((cause: unknown) => {
      logger.warn("could not create a network for a build", { cause });
      throw new BuildError(engineUnreachable(containers.engine));
    });
    const id = await buildContainer(containers.engine, {
      ...context,
      source,
      owner: ownerFolder(owner),
      tag: containers.tagOf(reference),
      labels: containers.imageLabels({ owner, service: name, source: source.digest }),
      networkName,
      allowedPorts: containers.allowedPorts,
      home: containers.folder,
    });
    return { kind: "container", id };
  };

  const unpackAndBuild = async (
    { source, owner }: BuildRequest,
    files: SourceFiles,
    context: BuildContext,
    venvs: string,
  ) => {
    const planned = planSource(files);
    if ("failure" in planned) throw new BuildError(planned.failure);
    await extractor.extract({ source, folder: context.app, owner }, context.signal);
    return buildSource(context, planned.plan, venvs);
  };

  const build = async (
    request: BuildRequest,
    reference: string,
    context: Omit<BuildContext, "app" | "cache" | "user">,
  ): Promise<BuildEvent> => {
    const known = await isBuilt(reference);
    if (typeof known === "object") return { kind: "failed", failure: known };
    if (known) {
      context.say("This source was built before; reusing its image");
      return { kind: "built", image: reference };
    }
    const account = join(config.cacheDir, ownerFolder(request.owner));
    const cache = join(account, "home");
    try {
      context.signal.throwIfAborted();
      await mkdir(cache, { recursive: true, mode: 0o700 });
      const user = config.userOf(request.owner);
      const app = await images.begin(reference);
      const survey = await surveySource(request.source, context.signal);
      const manifest =
        survey.kind === "dockerfile"
          ? await buildImage(request, reference, context)
          : await unpackAndBuild(request, survey.files, { ...context, app, cache, user }, join(account, "venvs"));
      context.signal.throwIfAborted();
      await images.complete(reference, manifest);
      return { kind: "built", image: reference };
    } catch (error) {
      await images
        .discard(reference)
        .catch((cause: unknown) => logger.warn("could not remove an unfinished image", { reference, cause }));
      if (context.signal.aborted) return { kind: "failed", failure: INTERRUPTED };
      const failure = failureOf(error);
      if (failure !== undefined) return { kind: "failed", failure };
      logger.error("a build failed because of the platform", { deployId: request.deployId, cause: error });
      return { kind: "failed", failure: platformFailureOf(error) };
    }
  };

  return {
    build: (request, { signal = new AbortController().signal } = {}) =>
      streamProgress<BuildEvent, BuildEvent>((emit) => {
        const say = (message: string) => emit({ kind: "progress", message });
        const print = pacePrint(say);
        const newId = () => `${config.mark}.${ids.id()}`;
        const reference = referenceFor(config, request);
        const context = { runner, toolchain, limits, network, say, print, signal, newId, mutex };
        // Serializes builds of the same image, so the second build finds the image of the first.
        return mutex
          .take(reference, signal, () => build(request, reference, context))
          .catch((error: unknown) => {
            if (!signal.aborted) throw error;
            return { kind: "failed", failure: INTERRUPTED };
          });
      }),
  };
};
