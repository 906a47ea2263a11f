/** `ImageBuilder` on CodeBuild and ECR. Follows each build's log in CloudWatch Logs. */
import type { Build } from "@aws-sdk/client-codebuild";
import type { ImageBuilder } from "../../../../core/ports/image-builder.ts";
import { ok, okAsync, safeTry } from "../../../../core/result.ts";
import {
  createRemoteBuilder,
  type RemoteBuilds,
  type RemoteVerdict,
  type RunningBuild,
} from "../../../cloud/deploy/build/remote-builder.ts";
import type { LogLines } from "../../../shared/logs/log-lines.ts";
import { type AwsRuntimeDeps, awsCalls, type Called } from "../../call-policy.ts";
import type { ClientSource } from "../../clients.ts";
import type { AwsConfig } from "../../config.ts";
import { failureOfUnavailable } from "../../failures.ts";
import { createBuilds } from "./builds.ts";
import { failureOfBuild } from "./failures.ts";
import { sourceKeyOf, tagOf } from "./names.ts";
import { renderBuild } from "./render.ts";
import { stageSource } from "./staging.ts";

/** Maximum log pages per poll. */
const MAX_LOG_PAGES = 20;
/** Maximum wait for the late log lines of a build that has ended, in milliseconds. */
const SETTLE_MS = 4000;
/**
 * How long a cancellation retries StartBuild, in milliseconds. If the first response was lost, the retry returns the
 * build's id.
 */
const START_RETRY_MS = 1500;

export const createCodeBuilder = (
  { shared, settleSeconds }: Pick<AwsConfig, "shared" | "settleSeconds">,
  clients: ClientSource,
  runtime: AwsRuntimeDeps,
): ImageBuilder => {
  const { clock, ids, logger } = runtime;
  const call = awsCalls(runtime);
  const builds = createBuilds(shared, clients, call);
  const stage = stageSource(shared.stateBucket, clients, call);

  const follow = (id: string): RunningBuild => {
    let token: string | undefined;

    const read = (build: Build, lines: LogLines, signal: AbortSignal): Called<void> =>
      safeTry(async function* () {
        for (let page = 0; page < MAX_LOG_PAGES; page++) {
          const { text, token: next } = yield* await builds.log(build, token, signal);
          lines.take(Buffer.from(text));
          // "If you have reached the end of the stream, it returns the same token you passed in" (GetLogEvents).
          if (next === token) break;
          token = next;
        }
        return ok(undefined);
      });

    const running: RemoteVerdict = { kind: "running" };
    const poll = (lines: LogLines, signal: AbortSignal): Called<RemoteVerdict> =>
      safeTry(async function* () {
        const build = yield* await builds.get(id, signal);
        if (build === undefined) return ok(running);
        const hasEnded = build.buildComplete === true;
        if (hasEnded) await clock.sleep(Math.min(settleSeconds * 1000, SETTLE_MS), signal);
        yield* await read(build, lines, signal);
        const ended: RemoteVerdict = { kind: "ended", failure: (tail) => failureOfBuild(build, tail) };
        return ok(hasEnded ? ended : running);
      });
    return { id, poll: async (lines, signal) => poll(lines, signal) };
  };

  const remote: RemoteBuilds = {
    service: "CodeBuild",
    buildpacks: "Google's",
    // The CodeBuild project has its own role, so builds cannot run with a default identity by mistake.
    problem: undefined,
    image: async ({ owner, source }, signal) =>
      builds.repository(signal).map((uri) => `${uri}:${tagOf(owner, source.digest)}`),
    hasImage: async ({ owner, source }, signal) => builds.imageExists(tagOf(owner, source.digest), signal),
    stage: async ({ owner, source }, signal) => stage(sourceKeyOf(owner, source.digest), source, signal),
    start: async (build, signal) => builds.start(renderBuild(shared, build), { signal }).map(follow),
    cancel: async (build, id) => {
      // An idempotency token starts only one build, so a repeated call returns that build's id.
      const startAgain = () => builds.start(renderBuild(shared, build), { timeoutMs: START_RETRY_MS });
      return (id === undefined ? startAgain() : okAsync(id)).andThen((known) => builds.stop(known));
    },
  };
  const newMark = () => `portside-build-${ids.id()}`;
  return createRemoteBuilder({ builds: remote, failureOfUnavailable, newMark, clock, logger });
};
