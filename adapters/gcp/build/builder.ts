/**
 * Cloud Build as ImageBuilder: the source goes to a bucket under its digest, the image gets a tag that follows from it,
 * and what has its tag already is not built again.
 */
import type { DeployFailure } from "../../../core/domain/deploy-reason.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { BuildEvent, BuildRequest, ImageBuilder } from "../../../core/ports/image-builder.ts";
import type { Result } from "../../../core/result.ts";
import { narrate } from "../../shared/channel.ts";
import { type CallState, isCallState } from "../../shared/provider-call.ts";
import { Turns } from "../../shared/turns.ts";
import type { ClientSource } from "../clients.ts";
import type { GcpConfig } from "../config.ts";
import { failureOfUnavailable } from "../failures.ts";
import { type GcpAmbient, googleCalls } from "../google.ts";
import { identityProblem } from "../service-accounts.ts";
import { createBuilds } from "./builds.ts";
import { failureOfBuild, hasEnded } from "./failures.ts";
import { LogLines } from "../../shared/log-lines.ts";
import { imageOf, logObjectOf, sourceObjectOf } from "./names.ts";
import { renderBuild } from "./render.ts";
import { hasDockerfile } from "../../shared/source-kind.ts";
import { createStaging } from "./staging.ts";

const FIRST_LOOK_MS = 500;
const LONGEST_LOOK_MS = 3000;
const INTERRUPTED: DeployFailure = { reason: "interrupted", message: "The build was ended." };

/** Carries a failure out of a build's steps. */
class BuildFailed extends Error {
  readonly failure: DeployFailure;

  constructor(failure: DeployFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

export const createCloudBuilder = (config: GcpConfig, clients: ClientSource, ambient: GcpAmbient): ImageBuilder => {
  const { clock, ids, logger } = ambient;
  const call = googleCalls(ambient);
  const builds = createBuilds(config, clients, call, clock);
  const staging = createStaging(config.stagingBucket, clients, call);
  const turns = new Turns();
  // Nothing is built with rights that are not meant for it.
  const refusedIdentity = identityProblem(config.buildIdentity);

  const need = <T>(result: Result<T, CallState | Unavailable>, what: string): T => {
    if (result.isOk()) return result.value;
    const { error } = result;
    if (!isCallState(error)) throw new BuildFailed(failureOfUnavailable(error));
    logger.error("Google Cloud does not take what a build needs", { what, error: error.error });
    throw new BuildFailed({
      reason: error.code === "not_found" ? "permission" : "internal",
      message: `The platform could not ${what}; its operator can see why.`,
    });
  };

  /** Follows a build to its end, its log as it grows; why it failed, or undefined. */
  const follow = async (id: string, say: (line: string) => void, signal: AbortSignal) => {
    const lines = new LogLines(say);
    for (let pause = FIRST_LOOK_MS; ; pause = Math.min(pause * 1.5, LONGEST_LOOK_MS)) {
      const seen = need(await builds.get(id, signal), "look at the build");
      // After the status: the log of a build that has ended is whole.
      lines.take(need(await staging.read(logObjectOf(id), lines.bytes, signal), "read the build's log"));
      signal.throwIfAborted();
      if (hasEnded(seen)) {
        lines.end();
        return failureOfBuild(seen, lines.tail);
      }
      await clock.sleep(pause, signal);
    }
  };

  const build = async (
    { owner, source }: BuildRequest,
    say: (line: string) => void,
    signal: AbortSignal,
  ): Promise<string> => {
    const { digest } = source;
    const image = imageOf(config, owner, digest);
    if (need(await builds.knows(owner, digest, signal), "look for the image")) {
      say("This source was built before; its image is used again");
      return image;
    }
    if (refusedIdentity !== undefined) {
      logger.error("builds have no identity of their own", { problem: refusedIdentity });
      throw new BuildFailed({ reason: "permission", message: "The platform's builds have no identity of their own." });
    }
    say("Sending the source to Cloud Build");
    const dockerfile = await hasDockerfile(source, signal);
    need(await staging.put(sourceObjectOf(owner, digest), source, signal), "stage the source");
    signal.throwIfAborted();
    const mark = `portside-build-${ids.id()}`;
    const begun: { id?: string; mark: string } = { mark };
    const failure = await (async () => {
      try {
        const request = renderBuild(config, { owner, digest, hasDockerfile: dockerfile }, mark);
        begun.id = need(await builds.start(request, mark, signal), "start the build");
        say(dockerfile ? "Building with the source's Dockerfile" : "Building with Google's buildpacks");
        return await follow(begun.id, say, signal);
      } catch (error) {
        // Nobody would see its end.
        await cancel(begun);
        throw error;
      }
    })();
    if (failure !== undefined) throw new BuildFailed(failure);
    return image;
  };

  const cancel = async (begun: { id?: string; mark: string }): Promise<void> => {
    const cancelled = await builds.cancel(begun);
    // One that has ended cannot be cancelled, and need not be.
    if (cancelled.isErr() && !isCallState(cancelled.error)) logger.warn("a build was not cancelled", { ...begun });
  };

  const failureOf = (error: unknown, { deployId }: BuildRequest, signal: AbortSignal): DeployFailure => {
    if (signal.aborted) return INTERRUPTED;
    if (error instanceof BuildFailed) return error.failure;
    logger.error("a build failed for a reason of the platform's own", { deployId, cause: error });
    return { reason: "internal", message: "The platform could not build the source." };
  };

  return {
    build: (request, { signal = new AbortController().signal } = {}) =>
      narrate<BuildEvent, BuildEvent>(async (emit) => {
        const say = (message: string) => emit({ kind: "progress", message });
        const key = imageOf(config, request.owner, request.source.digest);
        try {
          // Builds of the same image wait for each other, so that the second finds what the first made.
          const image = await turns.take(key, signal, () => build(request, say, signal));
          return signal.aborted ? { kind: "failed", failure: INTERRUPTED } : { kind: "built", image };
        } catch (error) {
          return { kind: "failed", failure: failureOf(error, request, signal) };
        }
      }),
  };
};
