/**
 * Determines why a build failed, from its status, its failed phase (client-codebuild, models) and the end of its log.
 * Pure.
 */
import type { Build, BuildPhase } from "@aws-sdk/client-codebuild";
import type { DeployFailure } from "../../../../core/domain/deploy/reason.ts";
import { nothingDetected } from "../../../cloud/deploy/build/buildpacks.ts";

const FAULT: DeployFailure = { reason: "provider_unavailable", message: "CodeBuild failed. Deploy again." };

const statuses: Readonly<Record<string, DeployFailure>> = {
  FAULT,
  TIMED_OUT: {
    reason: "build_timeout",
    message:
      "The build exceeded its time limit, or waited too long in CodeBuild's queue. Make it faster, or deploy again later.",
  },
  STOPPED: { reason: "interrupted", message: "The build was cancelled." },
};

const SOURCE_UNREADABLE: DeployFailure = {
  reason: "provider_unavailable",
  message: "CodeBuild could not read the source. Deploy again.",
};
const BUILDER_UNREADABLE: DeployFailure = {
  reason: "provider_unavailable",
  message: "CodeBuild could not pull the buildpacks. Deploy again.",
};
const PUSH_FAILED: DeployFailure = {
  reason: "provider_unavailable",
  message: "CodeBuild could not push the image. Deploy again.",
};

/** Phases whose failure is the platform's fault, not the source's. */
const phases: Readonly<Record<string, DeployFailure>> = {
  SUBMITTED: FAULT,
  QUEUED: FAULT,
  PROVISIONING: FAULT,
  DOWNLOAD_SOURCE: SOURCE_UNREADABLE,
  INSTALL: BUILDER_UNREADABLE,
  PRE_BUILD: SOURCE_UNREADABLE,
  POST_BUILD: PUSH_FAILED,
  UPLOAD_ARTIFACTS: PUSH_FAILED,
  FINALIZING: PUSH_FAILED,
};

/*
 * Only docker's and pack's own errors begin with ERROR, because both tools prefix each line that the source's code
 * prints.
 * https://docs.docker.com/docker-hub/usage/#rate-limit, solver/llbsolver/ops/exec.go of moby/buildkit
 */
const DOCKER_HUB_LIMIT = /^ERROR: .*(?:toomanyrequests|429 Too Many Requests)/;
const STEP_FAILED = /^ERROR: .* did not complete successfully: exit code: (\d+)$/;

/** Returns the exit code of a Dockerfile's step. `docker build` itself exits with 1 if any step fails. */
const exitCodeOfStep = (tail: readonly string[]): number | undefined => {
  const code = tail.map((line) => STEP_FAILED.exec(line)?.[1]).find(Boolean);
  return code === undefined ? undefined : Number(code);
};

/** "This might include a command ID and an exit code" (PhaseContext.message); the API has no field for the code. */
const exitCodeIn = ({ contexts }: BuildPhase): number | undefined => {
  const code = contexts?.map(({ message }) => /exit status (\d+)/.exec(message ?? "")?.[1]).find(Boolean);
  return code === undefined ? undefined : Number(code);
};

const hasFailed = ({ phaseStatus }: BuildPhase): boolean =>
  phaseStatus !== undefined && phaseStatus !== "SUCCEEDED" && phaseStatus !== "IN_PROGRESS";

/**
 * Returns why a finished build failed, or undefined if it succeeded.
 *
 * @param tail the last lines of its log
 */
export const failureOfBuild = (
  { buildStatus, phases: all }: Build,
  tail: readonly string[],
): DeployFailure | undefined => {
  if (buildStatus === "SUCCEEDED") return undefined;
  const known = statuses[buildStatus ?? ""];
  if (known !== undefined) return known;
  const phase = all?.find(hasFailed) ?? {};
  const platformFailure = phases[phase.phaseType ?? ""];
  if (platformFailure !== undefined) return { ...platformFailure, logTail: tail };
  const undetected = nothingDetected(tail);
  if (undetected !== undefined) return undetected;
  const exitCode = exitCodeOfStep(tail) ?? exitCodeIn(phase);
  const message = tail.some((line) => DOCKER_HUB_LIMIT.test(line))
    ? "A registry limits anonymous pulls from the IP addresses that CodeBuild shares between customers. Use images from another registry, such as public.ecr.aws/docker/library/node, or deploy again later."
    : exitCode === undefined
      ? "A build command failed."
      : `A build command failed with exit code ${exitCode}.`;
  return { reason: "build_failed", message, logTail: tail, ...(exitCode === undefined ? {} : { exitCode }) };
};
