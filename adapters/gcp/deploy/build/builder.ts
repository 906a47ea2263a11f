/** `ImageBuilder` on Cloud Build. Follows each build's log in the staging bucket. */
import type { DeployFailure } from "../../../../core/domain/deploy/reason.ts";
import type { BuildEvent, BuildRequest, ImageBuilder } from "../../../../core/ports/image-builder.ts";
import { err, ok } from "../../../../core/result.ts";
import { isCallState } from "../../../cloud/calls/provider-call.ts";
import { createRemoteBuilder, type RemoteBuilds } from "../../../cloud/deploy/build/remote-builder.ts";
import type { Identities } from "../../accounts/identities.ts";
import { identityProblem } from "../../accounts/service-accounts.ts";
import { type GcpRuntimeDeps, googleCalls } from "../../call-policy.ts";
import type { ClientSource } from "../../clients.ts";
import type { GcpConfig } from "../../config.ts";
import { failureOfUnavailable } from "../../failures.ts";
import { createBuilds } from "./builds.ts";
import { failureOfBuild, failureOfStart, hasEnded, INTERRUPTED } from "./failures.ts";
import { imageAt, imageOf, logObjectOf, sourceObjectOf } from "./names.ts";
import { renderBuild } from "./render.ts";
import { createStaging } from "./staging.ts";

const IMAGE_GONE: DeployFailure = {
  reason: "image_not_found",
  message: "The image was deleted from Artifact Registry after its build. Deploy again.",
};

/** @param identities creates the account's runtime identity during the build, because the creation may take minutes */
export const createCloudBuilder = (
  config: GcpConfig,
  clients: ClientSource,
  runtime: GcpRuntimeDeps,
  identities?: Pick<Identities, "ensure">,
): ImageBuilder => {
  const { clock, ids, logger } = runtime;
  const call = googleCalls(runtime);
  const builds = createBuilds(config, clients, call, clock);
  const staging = createStaging(config.stagingBucket, clients, call);

  const remote: RemoteBuilds = {
    service: "Cloud Build",
    buildpacks: "Google's",
    // Reject default identities: they have more rights than builds need.
    problem: identityProblem(config.buildIdentity),
    image: async ({ owner, source }) => {
      // The rollout repeats this call, and reports its error.
      void identities?.ensure(owner);
      return ok(imageOf(config, owner, source.digest));
    },
    hasImage: async ({ owner, source }, signal) =>
      (await builds.imageDigest(owner, source.digest, signal)).map((digest) => digest !== undefined),
    stage: ({ owner, source }, signal) => staging.put(sourceObjectOf(owner, source.digest), source, signal),
    start: async ({ request: { owner, source }, by, mark }, signal) => {
      const request = renderBuild(config, { owner, digest: source.digest, by }, mark);
      return (await builds.start(request, mark, signal)).map((id) => ({
        id,
        poll: async (lines, signal) => {
          const seen = await builds.get(id, signal);
          if (seen.isErr()) return err(seen.error);
          // Read the log after the status: once a build has ended, its log is complete.
          const read = await staging.read(logObjectOf(id), lines.bytes, signal);
          return read.map((bytes) => {
            lines.take(bytes);
            if (!hasEnded(seen.value)) return { kind: "running" };
            return { kind: "ended", failure: (tail) => failureOfBuild(seen.value, tail) };
          });
        },
      }));
    },
    cancel: ({ mark }, id) => builds.cancel(id, mark),
  };
  const newMark = () => `portside-build-${ids.id()}`;
  const failureOfRejection = (error: unknown) => failureOfStart(error, config.buildRegion);
  const { build } = createRemoteBuilder({
    builds: remote,
    failureOfUnavailable,
    failureOfRejection,
    newMark,
    clock,
    logger,
  });

  /** Replaces the tag in the reference with a digest, because a later build may move the tag to a different image. */
  const pin = async ({ owner, source }: BuildRequest, signal?: AbortSignal): Promise<BuildEvent> => {
    const found = await builds.imageDigest(owner, source.digest, signal);
    if (signal?.aborted === true) return { kind: "failed", failure: INTERRUPTED };
    if (found.isErr() && !isCallState(found.error))
      return { kind: "failed", failure: failureOfUnavailable(found.error) };
    if (found.isErr() || found.value === undefined) return { kind: "failed", failure: IMAGE_GONE };
    return { kind: "built", image: imageAt(config, owner, found.value) };
  };

  return {
    async *build(request, options) {
      for await (const event of build(request, options))
        yield event.kind === "built" ? await pin(request, options?.signal) : event;
    },
  };
};
