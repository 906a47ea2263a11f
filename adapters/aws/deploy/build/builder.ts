/** `ImageBuilder` on CodeBuild and ECR. Follows each build's log in CloudWatch Logs. */
import type { Build } from "@aws-sdk/client-codebuild";
import type { Unavailable } from "../../../../core/errors.ts";
import type { ImageBuilder } from "../../../../core/ports/image-builder.ts";
import { err, ok, type Result } from "../../../../core/result.ts";
import type { CallState } from "../../../shared/calls/provider-call.ts";
import { createRemoteBuilder, type RemoteBuilds, type RunningBuild } from "../../../shared/deploy/remote-builder.ts";
import type { LogLines } from "../../../shared/logs/log-lines.ts";
import { type AwsRuntimeDeps, awsCalls } from "../../call-policy.ts";
import type { ClientSource } from "../../clients.ts";
import type { AwsConfig } from "../../config.ts";
import { failureOfUnavailable } from "../../failures.ts";
import { createBuilds } from "./builds.ts";
import { failureOfBuild } from "./failures.ts";
import { sourceKeyOf, tagOf } from "./names.ts";
import { renderBuild } from "./render.ts";
import { stageSource } from "./staging.ts";

/** Log pages per poll, however long the log is. */
const MAX_LOG_PAGES = 20;
/** How long to wait for late log lines, in milliseconds. Must fit within the time limit of an abort. */
const SETTLE_MS = 4000;
/** How long to retry, in milliseconds, to learn the id of a build whose start had no response. */
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

    const read = async (
      build: Build,
      lines: LogLines,
      signal: AbortSignal,
    ): Promise<Result<void, CallState | Unavailable>> => {
      for (let page = 0; page < MAX_LOG_PAGES; page++) {
        const got = await builds.log(build, token, signal);
        if (got.isErr()) return err(got.error);
        lines.take(Buffer.from(got.value.text));
        // "If you have reached the end of the stream, it returns the same token you passed in" (GetLogEvents).
        if (got.value.token === token) break;
        token = got.value.token;
      }
      return ok(undefined);
    };

    const look: RunningBuild["look"] = async (lines, signal) => {
      const seen = await builds.get(id, signal);
      if (seen.isErr()) return err(seen.error);
      const { value: build } = seen;
      if (build === undefined) return ok({ kind: "running" });
      const hasEnded = build.buildComplete === true;
      if (hasEnded) await clock.sleep(Math.min(settleSeconds * 1000, SETTLE_MS), signal);
      const got = await read(build, lines, signal);
      if (got.isErr()) return err(got.error);
      return ok(hasEnded ? { kind: "ended", failure: (tail) => failureOfBuild(build, tail) } : { kind: "running" });
    };
    return { id, look };
  };

  const remote: RemoteBuilds = {
    service: "CodeBuild",
    buildpacks: "Google's",
    // The project has its own, configured role, so a default identity cannot be used by mistake.
    problem: undefined,
    image: async ({ owner, source }, signal) =>
      (await builds.repository(signal)).map((uri) => `${uri}:${tagOf(owner, source.digest)}`),
    knows: ({ owner, source }, signal) => builds.imageExists(tagOf(owner, source.digest), signal),
    stage: ({ owner, source }, signal) => stage(sourceKeyOf(owner, source.digest), source, signal),
    start: async (build, signal) => (await builds.start(renderBuild(shared, build), { signal })).map(follow),
    cancel: async (build, id) => {
      // A token starts one build. Repeating the call returns that build's id.
      const known =
        id === undefined ? await builds.start(renderBuild(shared, build), { timeoutMs: START_RETRY_MS }) : ok(id);
      return known.isErr() ? err(known.error) : builds.stop(known.value);
    },
  };
  const newMark = () => `portside-build-${ids.id()}`;
  return createRemoteBuilder({ builds: remote, failureOfUnavailable, newMark, clock, logger });
};
