/**
 * ImageBuilder on a service that builds elsewhere: the source goes there under its digest, the image gets a tag that
 * follows from it, and what has its tag already is not built again. What the service is asked is the adapter's.
 */

import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { BuildEvent, BuildRequest, ImageBuilder } from "../../../core/ports/image-builder.ts";
import type { Clock, Logger } from "../../../core/ports/system.ts";
import type { Result } from "../../../core/result.ts";
import { SourceUnavailable } from "../archives/bucket-spool.ts";
import { pausesBetween } from "../calls/backoff.ts";
import { type CallState, isCallState } from "../calls/provider-call.ts";
import { LogLines } from "../logs/log-lines.ts";
import { narrate } from "../runtime/channel.ts";
import { KeyedMutex } from "../runtime/keyed-mutex.ts";
import { type BuildpackPlan, planBuildpacks } from "./buildpacks.ts";
import { surveySource } from "./survey-source.ts";

const FIRST_LOOK_MS = 500;
const LONGEST_LOOK_MS = 3000;
const INTERRUPTED: DeployFailure = { reason: "interrupted", message: "The build was ended." };

type Called<T> = Promise<Result<T, CallState | Unavailable>>;

export interface RemoteBuild {
  readonly request: BuildRequest;
  readonly image: string;
  /** With Docker, or with buildpacks that get these variables. */
  readonly by:
    | { readonly kind: "dockerfile" }
    | { readonly kind: "buildpacks"; readonly environment: BuildpackPlan["environment"] };
  /** Names this attempt among all, so that one whose answer was lost is found again. */
  readonly mark: string;
}

/** A build that was started, as it is looked at. */
export interface RunningBuild {
  readonly id: string;
  /** How it stands; and its log, of which `take` is given what is new. */
  look(lines: LogLines, signal: AbortSignal): Called<RemoteVerdict>;
}

export type RemoteVerdict =
  | { readonly kind: "running" }
  /** `failure` is asked with the last lines; undefined: it went well. */
  | { readonly kind: "ended"; readonly failure: (tail: readonly string[]) => DeployFailure | undefined };

export interface RemoteBuilds {
  /** The service in words: `Cloud Build`. */
  readonly service: string;
  /** Whose buildpacks they are, in words. */
  readonly buildpacks: string;
  /** Why nothing can be built as this platform is set up, for the operator; undefined: it can. */
  readonly problem: string | undefined;
  /** The reference of a source's image. */
  image(request: BuildRequest, signal: AbortSignal): Called<string>;
  /** Is there one already? */
  knows(request: BuildRequest, signal: AbortSignal): Called<boolean>;
  stage(request: BuildRequest, signal: AbortSignal): Called<void>;
  start(build: RemoteBuild, signal: AbortSignal): Called<RunningBuild>;
  /** Ends a build soon, also one of which only the attempt is known. */
  cancel(build: RemoteBuild, id: string | undefined): Called<void>;
}

export interface RemoteBuilderDeps {
  readonly builds: RemoteBuilds;
  readonly failureOfUnavailable: (error: Unavailable) => DeployFailure;
  readonly newMark: () => string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Carries a failure out of a build's steps. */
class BuildFailed extends Error {
  readonly failure: DeployFailure;

  constructor(failure: DeployFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

export const createRemoteBuilder = (deps: RemoteBuilderDeps): ImageBuilder => {
  const { builds, clock, logger, newMark, failureOfUnavailable } = deps;
  const turns = new KeyedMutex();

  const need = <T>(result: Result<T, CallState | Unavailable>, what: string): T => {
    if (result.isOk()) return result.value;
    const { error } = result;
    if (!isCallState(error)) throw new BuildFailed(failureOfUnavailable(error));
    logger.error("the cloud does not take what a build needs", { what, error: error.error });
    throw new BuildFailed({
      reason: error.code === "not_found" ? "permission" : "internal",
      message: `The platform could not ${what}; its operator can see why.`,
    });
  };

  /** Follows a build to its end, its log as it grows; why it failed, or undefined. */
  const follow = async (running: RunningBuild, say: (line: string) => void, signal: AbortSignal) => {
    const lines = new LogLines(say);
    for (const pause of pausesBetween(FIRST_LOOK_MS, LONGEST_LOOK_MS)) {
      const seen = need(await running.look(lines, signal), "look at the build");
      signal.throwIfAborted();
      if (seen.kind === "ended") {
        lines.end();
        return seen.failure(lines.tail);
      }
      await clock.sleep(pause, signal);
    }
  };

  const cancel = async (build: RemoteBuild, id: string | undefined): Promise<void> => {
    const cancelled = await builds.cancel(build, id);
    // One that has ended cannot be cancelled, and need not be.
    if (cancelled.isErr() && !isCallState(cancelled.error))
      logger.warn("a build was not cancelled", { id, mark: build.mark });
  };

  const chooseBuilder = async (
    { source }: BuildRequest,
    say: (line: string) => void,
    signal: AbortSignal,
  ): Promise<RemoteBuild["by"]> => {
    const survey = await surveySource(source, signal);
    if (survey.kind === "dockerfile") return survey;
    const plan = planBuildpacks(survey.files);
    if ("reason" in plan) throw new BuildFailed(plan);
    for (const warning of plan.warnings) say(warning);
    return { kind: "buildpacks", environment: plan.environment };
  };

  const build = async (
    request: BuildRequest,
    image: string,
    say: (line: string) => void,
    signal: AbortSignal,
  ): Promise<string> => {
    if (need(await builds.knows(request, signal), "look for the image")) {
      say("This source was built before; its image is used again");
      return image;
    }
    if (builds.problem !== undefined) {
      logger.error("builds have no identity of their own", { problem: builds.problem });
      throw new BuildFailed({ reason: "permission", message: "The platform's builds have no identity of their own." });
    }
    const by = await chooseBuilder(request, say, signal);
    say(`Sending the source to ${builds.service}`);
    need(await builds.stage(request, signal), "stage the source");
    signal.throwIfAborted();
    const wanted: RemoteBuild = { request, image, by, mark: newMark() };
    let id: string | undefined;
    const failure = await (async () => {
      try {
        const running = need(await builds.start(wanted, signal), "start the build");
        id = running.id;
        say(
          by.kind === "dockerfile"
            ? "Building with the source's Dockerfile"
            : `Building with ${builds.buildpacks} buildpacks`,
        );
        return await follow(running, say, signal);
      } catch (error) {
        // Nobody would see its end.
        await cancel(wanted, id);
        throw error;
      }
    })();
    if (failure !== undefined) throw new BuildFailed(failure);
    return image;
  };

  const failureOf = (error: unknown, { deployId }: BuildRequest, signal: AbortSignal): DeployFailure => {
    if (signal.aborted) return INTERRUPTED;
    if (error instanceof BuildFailed) return error.failure;
    if (error instanceof SourceUnavailable) return failureOfUnavailable(error.unavailable);
    logger.error("a build failed for a reason of the platform's own", { deployId, cause: error });
    return { reason: "internal", message: "The platform could not build the source." };
  };

  return {
    build: (request, { signal = new AbortController().signal } = {}) =>
      narrate<BuildEvent, BuildEvent>(async (emit) => {
        const say = (message: string) => emit({ kind: "progress", message });
        try {
          signal.throwIfAborted();
          const image = need(await builds.image(request, signal), "name the image");
          // Builds of the same image wait for each other, so that the second finds what the first made.
          await turns.take(image, signal, () => build(request, image, say, signal));
          return signal.aborted ? { kind: "failed", failure: INTERRUPTED } : { kind: "built", image };
        } catch (error) {
          return { kind: "failed", failure: failureOf(error, request, signal) };
        }
      }),
  };
};
