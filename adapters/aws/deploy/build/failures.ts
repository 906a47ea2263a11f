/** Classifies build failures by the codes in Build.buildStatus and BuildPhase (client-codebuild, models). Pure. */
import type { Build, BuildPhase } from "@aws-sdk/client-codebuild";
import type { DeployFailure } from "../../../../core/domain/deploy/reason.ts";
import { nothingDetected } from "../../../shared/deploy/buildpacks.ts";

const FAULT: DeployFailure = { reason: "provider_unavailable", message: "CodeBuild failed; deploy again." };

const statuses: Readonly<Record<string, DeployFailure>> = {
  FAULT,
  TIMED_OUT: { reason: "build_timeout", message: "The build took, or waited, longer than it may." },
  STOPPED: { reason: "interrupted", message: "The build was ended." },
};

const NO_SOURCE: DeployFailure = {
  reason: "provider_unavailable",
  message: "CodeBuild could not read the source; deploy again.",
};
const NOT_STORED: DeployFailure = {
  reason: "provider_unavailable",
  message: "The image could not be stored; deploy again.",
};

/** Phases whose failure is the platform's fault, not the source's. */
const phases: Readonly<Record<string, DeployFailure>> = {
  SUBMITTED: FAULT,
  QUEUED: FAULT,
  PROVISIONING: FAULT,
  DOWNLOAD_SOURCE: NO_SOURCE,
  INSTALL: NO_SOURCE,
  PRE_BUILD: NO_SOURCE,
  POST_BUILD: NOT_STORED,
  UPLOAD_ARTIFACTS: NOT_STORED,
  FINALIZING: NOT_STORED,
};

/** "This might include a command ID and an exit code" (PhaseContext.message); there is no field for it. */
const exitCodeIn = ({ contexts }: BuildPhase): number | undefined => {
  const code = contexts?.map(({ message }) => /exit status (\d+)/.exec(message ?? "")?.[1]).find(Boolean);
  return code === undefined ? undefined : Number(code);
};

const hasFailed = ({ phaseStatus }: BuildPhase): boolean =>
  phaseStatus !== undefined && phaseStatus !== "SUCCEEDED" && phaseStatus !== "IN_PROGRESS";

/**
 * The failure of a finished build; undefined if it succeeded.
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
  const ours = phases[phase.phaseType ?? ""];
  if (ours !== undefined) return { ...ours, logTail: tail };
  const undetected = nothingDetected(tail);
  if (undetected !== undefined) return undetected;
  const exitCode = exitCodeIn(phase);
  const message =
    exitCode === undefined ? "A command of the build failed." : `The build ended with exit code ${exitCode}.`;
  return { reason: "build_failed", message, logTail: tail, ...(exitCode === undefined ? {} : { exitCode }) };
};
