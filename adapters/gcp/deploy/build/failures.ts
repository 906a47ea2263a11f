/** Determines why a build failed from its `Build.Status` and `Build.FailureInfo` (cloudbuild.proto). Pure functions. */
import type { DeployFailure } from "../../../../core/domain/deploy/reason.ts";
import { nothingDetected } from "../../../cloud/deploy/build/buildpacks.ts";
import type { Build } from "./render.ts";

const failureTypes: Readonly<Record<string, DeployFailure>> = {
  PUSH_FAILED: { reason: "provider_unavailable", message: "Cloud Build could not push the image. Deploy again." },
  PUSH_IMAGE_NOT_FOUND: { reason: "build_failed", message: "The build created no image. Deploy again." },
  PUSH_NOT_AUTHORIZED: {
    reason: "permission",
    message: "The platform's builds have no permission to push images. Ask the operator to run 'portside doctor'.",
  },
  LOGGING_FAILURE: { reason: "provider_unavailable", message: "Cloud Build could not write its log. Deploy again." },
  FETCH_SOURCE_FAILED: {
    reason: "provider_unavailable",
    message: "Cloud Build could not read the source. Deploy again.",
  },
};

export const INTERRUPTED: DeployFailure = { reason: "interrupted", message: "The build was cancelled." };

const statuses: Readonly<Record<string, DeployFailure>> = {
  INTERNAL_ERROR: { reason: "provider_unavailable", message: "Cloud Build failed. Deploy again." },
  TIMEOUT: {
    reason: "build_timeout",
    message: "The build exceeded its time limit. Make it faster, or ask the operator to raise the deadline.",
  },
  EXPIRED: {
    reason: "build_timeout",
    message: "The build waited too long in Cloud Build's queue. Deploy again later.",
  },
  CANCELLED: INTERRUPTED,
};

const stepFailed = ({ steps }: Build, tail: readonly string[]): DeployFailure => {
  const undetected = nothingDetected(tail);
  if (undetected !== undefined) return undetected;
  const exitCode = steps?.find(({ status }) => status === "FAILURE")?.exitCode ?? undefined;
  const message = exitCode ? `A build command failed with exit code ${exitCode}.` : "A build command failed.";
  return { reason: "build_failed", message, logTail: tail, ...(exitCode ? { exitCode } : {}) };
};

/** Statuses of a build that has not ended. */
const running: ReadonlySet<string> = new Set(["STATUS_UNKNOWN", "PENDING", "QUEUED", "WORKING"]);

export const hasEnded = ({ status }: Build): boolean => !running.has(String(status));

/**
 * Returns the failure of a build that has ended, or undefined if the build succeeded.
 *
 * @param tail the last lines of the build's log
 */
export const failureOfBuild = (build: Build, tail: readonly string[]): DeployFailure | undefined => {
  const status = String(build.status);
  if (status !== "FAILURE") return statuses[status];
  return failureTypes[String(build.failureInfo?.type)] ?? stepFailed(build, tail);
};

/** Cloud Build's message: https://github.com/google-github-actions/deploy-cloudrun/issues/480 */
const RESTRICTED_REGION = /quota restrictions.*cannot run builds in this region/i;

/** Returns the reason why Cloud Build rejected a build, or undefined if the reason is unknown. */
export const failureOfStart = (error: unknown, region: string): DeployFailure | undefined =>
  error instanceof Error && RESTRICTED_REGION.test(error.message)
    ? {
        reason: "quota_exceeded",
        message: `Google Cloud does not let this project run builds in ${region}. The operator can set another region for builds (--gcp-build-region).`,
      }
    : undefined;
