/**
 * An `ImageBuilder` on a cloud's build service. The adapter implements the calls to the service (`RemoteBuilds`). The
 * source's digest determines the name of the upload and the tag of the image. The builder does not build an image again
 * if its tag exists.
 */

import type { DeployFailure } from "../../../../core/domain/deploy/reason.ts";
import type { Unavailable } from "../../../../core/errors.ts";
import type { BuildEvent, BuildRequest, ImageBuilder } from "../../../../core/ports/image-builder.ts";
import type { Clock, Logger } from "../../../../core/ports/system.ts";
import type { Result } from "../../../../core/result.ts";
import { surveySource } from "../../../shared/deploy/survey-source.ts";
import { LogLines } from "../../../shared/logs/log-lines.ts";
import { streamProgress } from "../../../shared/runtime/channel.ts";
import { KeyedMutex } from "../../../shared/runtime/keyed-mutex.ts";
import { backoff } from "../../calls/backoff.ts";
import { type CallState, isCallState } from "../../calls/provider-call.ts";
import { type Called, SourceUnavailable } from "./bucket-spool.ts";
import { type BuildpackPlan, planBuildpacks } from "./buildpacks.ts";

const FIRST_LOOK_MS = 500;
const LONGEST_LOOK_MS = 3000;
const INTERRUPTED: DeployFailure = { reason: "interrupted", message: "The build was cancelled." };

export interface RemoteBuild {
  readonly request: BuildRequest;
  readonly image: string;
  /** The build tool: Docker, or buildpacks with these variables. */
  readonly by:
    | { readonly kind: "dockerfile" }
    | { readonly kind: "buildpacks"; readonly environment: BuildpackPlan["environment"] };
  /** Identifies this attempt, so that its build can be found if the response is lost. */
  readonly mark: string;
}

/** A build that has started. */
export interface RunningBuild {
  readonly id: string;
  /** Returns the state of the build. Passes new log lines to `lines`. */
  poll(lines: LogLines, signal: AbortSignal): Called<RemoteVerdict>;
}

export type RemoteVerdict =
  | { readonly kind: "running" }
  /** The build has ended. `failure` receives its last log lines, and returns undefined if the build succeeded. */
  | { readonly kind: "ended"; readonly failure: (tail: readonly string[]) => DeployFailure | undefined };

export interface RemoteBuilds {
  /** The name of the service: `Cloud Build`. */
  readonly service: string;
  /** The vendor of the buildpacks, for messages: `Google's`. */
  readonly buildpacks: string;
  /** The problem in the platform's setup that prevents builds, for the operator; undefined if builds are possible. */
  readonly problem: string | undefined;
  /** Returns the reference of the source's image. */
  image(request: BuildRequest, signal: AbortSignal): Called<string>;
  /** Returns whether the image exists. */
  hasImage(request: BuildRequest, signal: AbortSignal): Called<boolean>;
  stage(request: BuildRequest, signal: AbortSignal): Called<void>;
  start(build: RemoteBuild, signal: AbortSignal): Called<RunningBuild>;
  /** Cancels a build, even if its id is unknown. */
  cancel(build: RemoteBuild, id: string | undefined): Called<void>;
}

export interface RemoteBuilderDeps {
  readonly builds: RemoteBuilds;
  readonly failureOfUnavailable: (error: Unavailable) => DeployFailure;
  /** Returns the failure for a request that the cloud rejected; undefined if the reason is unknown. */
  readonly failureOfRejection?: (error: unknown) => DeployFailure | undefined;
  readonly newMark: () => string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Thrown by the steps of a build to end it with a failure. */
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
    logger.error("the cloud rejected a build request", { what, error: error.error });
    const known = deps.failureOfRejection?.(error.error);
    if (known !== undefined) throw new BuildFailed(known);
    throw new BuildFailed({
      reason: error.code === "not_found" ? "permission" : "internal",
      message: `The platform could not ${what}. The operator can find the reason in the server's log.`,
    });
  };

  /** Polls a build until it ends, and forwards its log. Returns the failure, or undefined if the build succeeded. */
  const follow = async (running: RunningBuild, say: (line: string) => void, signal: AbortSignal) => {
    const lines = new LogLines(say);
    for (const pause of backoff(FIRST_LOOK_MS, LONGEST_LOOK_MS)) {
      const seen = need(await running.poll(lines, signal), "check the build");
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
    // A build that has ended cannot be cancelled.
    if (cancelled.isErr() && !isCallState(cancelled.error))
      logger.warn("could not cancel a build", { id, mark: build.mark });
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
    if (need(await builds.hasImage(request, signal), "look for the image")) {
      say("This source was built before; reusing its image");
      return image;
    }
    if (builds.problem !== undefined) {
      logger.error("builds have no separate identity", { problem: builds.problem });
      throw new BuildFailed({
        reason: "permission",
        message: "The platform has no separate identity for builds. The operator must create one.",
      });
    }
    const by = await chooseBuilder(request, say, signal);
    say(`Sending the source to ${builds.service}`);
    need(await builds.stage(request, signal), "stage the source");
    signal.throwIfAborted();
    const wanted: RemoteBuild = { request, image, by, mark: newMark() };
    let id: string | undefined;
    let failure: DeployFailure | undefined;
    try {
      const running = need(await builds.start(wanted, signal), "start the build");
      id = running.id;
      const means = by.kind === "dockerfile" ? "the source's Dockerfile" : `${builds.buildpacks} buildpacks`;
      say(`Building with ${means}`);
      failure = await follow(running, say, signal);
    } catch (error) {
      // Cancel the build, because no caller waits for its result.
      await cancel(wanted, id);
      throw error;
    }
    if (failure !== undefined) throw new BuildFailed(failure);
    return image;
  };

  const failureOf = (error: unknown, { deployId }: BuildRequest, signal: AbortSignal): DeployFailure => {
    if (signal.aborted) return INTERRUPTED;
    if (error instanceof BuildFailed) return error.failure;
    if (error instanceof SourceUnavailable) return failureOfUnavailable(error.unavailable);
    logger.error("a build failed because of an internal error", { deployId, cause: error });
    return {
      reason: "internal",
      message: "The platform could not build the source. The operator can find the reason in the server's log.",
    };
  };

  return {
    build: (request, { signal = new AbortController().signal } = {}) =>
      streamProgress<BuildEvent, BuildEvent>(async (emit) => {
        const say = (message: string) => emit({ kind: "progress", message });
        try {
          signal.throwIfAborted();
          const image = need(await builds.image(request, signal), "name the image");
          // Builds of the same image run one after the other, so that the second finds the image of the first.
          await turns.take(image, signal, () => build(request, image, say, signal));
          return signal.aborted ? { kind: "failed", failure: INTERRUPTED } : { kind: "built", image };
        } catch (error) {
          return { kind: "failed", failure: failureOf(error, request, signal) };
        }
      }),
  };
};
