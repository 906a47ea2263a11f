/**
 * Why a revision failed to start, from the codes of its conditions (run/v2/condition.proto). Where Run has one code for
 * several reasons ("the container did not pass its health check"), Run's own lines in the log decide.
 * Pure. Run writes its own lines to the log `run.googleapis.com/varlog/system`.
 */
import type { protos } from "@google-cloud/run";
import type { DeployFailure, DeployReason } from "../../../core/domain/deploy/reason.ts";
import type { RevisionLine } from "../../shared/deploy/last-lines.ts";

type Condition = Parameters<(typeof protos.google.cloud.run.v2)["Condition"]["create"]>[0] & object;

const messages: Partial<Record<DeployReason, string>> = {
  image_not_found: "Cloud Run finds no such image; deploy the source again.",
  permission: "Cloud Run may not use the image, or something else that the service needs.",
  quota_exceeded: "Cloud Run has no room for another revision of this service.",
  rollout_timeout: "Cloud Run did not finish the revision in its time.",
  provider_unavailable: "Cloud Run failed to start the revision; deploy again.",
  internal: "Cloud Run did not start the revision, for a reason that it does not say.",
};

const commonReasons: Readonly<Record<string, DeployReason>> = {
  PROGRESS_DEADLINE_EXCEEDED: "rollout_timeout",
  CONTAINER_MISSING: "image_not_found",
  CONTAINER_PERMISSION_DENIED: "permission",
  CONTAINER_IMAGE_UNAUTHORIZED: "permission",
  CONTAINER_IMAGE_AUTHORIZATION_CHECK_FAILED: "permission",
  ENCRYPTION_KEY_PERMISSION_DENIED: "permission",
  ENCRYPTION_KEY_CHECK_FAILED: "permission",
  SECRETS_ACCESS_CHECK_FAILED: "permission",
  VPC_NETWORK_NOT_FOUND: "permission",
  INTERNAL: "provider_unavailable",
};

const revisionReasons: Readonly<Record<string, DeployReason>> = {
  HEALTH_CHECK_CONTAINER_ERROR: "did_not_listen",
  ACTIVE_REVISION_LIMIT_REACHED: "quota_exceeded",
};

const reasonOf = ({ reason, revisionReason }: Condition): DeployReason | undefined =>
  revisionReasons[String(revisionReason)] ?? commonReasons[String(reason)];

const isFailed = ({ state }: Condition): boolean => state === "CONDITION_FAILED";

/** Returns the most specific reason of a failed revision or service. */
export const failureOfConditions = (conditions: readonly Condition[]): DeployFailure => {
  const reason = conditions.filter(isFailed).map(reasonOf).find(Boolean) ?? "internal";
  return { reason, message: messages[reason] ?? "The service did not come up." };
};

/** These texts of Run's system log are from https://docs.cloud.google.com/run/docs/troubleshooting. */
const EXITED = /^Container called exit\((\d+)\)/;
const KILLED = /^Container terminated on signal (\d+)/;
const OUT_OF_MEMORY = /^Memory limit of \S+ \S+ exceeded/;

const TAIL_LINES = 20;

/** How a container failed its health check; its log tells an exit from a container that never listened. */
export const failureOfHealthCheck = (lines: readonly RevisionLine[], port: number): DeployFailure => {
  const output = lines.filter(({ system }) => !system).slice(-TAIL_LINES);
  const logTail = output.map(({ text }) => text);
  const own = lines.flatMap(({ system, text }) => (system ? [text] : []));
  if (own.some((text) => OUT_OF_MEMORY.test(text)))
    return {
      reason: "out_of_memory",
      message: "The service was ended for using more memory than declared; declare more.",
      logTail,
    };
  const code = Number(own.map((text) => EXITED.exec(text)?.[1]).findLast(Boolean) ?? Number.NaN);
  if (!Number.isNaN(code))
    return {
      reason: code === 0 ? "exited" : "crashed",
      message: `The service ended with exit code ${code} instead of listening on PORT.`,
      exitCode: code,
      logTail,
    };
  const signal = own.map((text) => KILLED.exec(text)?.[1]).findLast(Boolean);
  if (signal !== undefined)
    return { reason: "crashed", message: `The service was ended by signal ${signal}.`, logTail };
  return {
    reason: "did_not_listen",
    message: `Nothing listened on port ${port} of all addresses (0.0.0.0) in time; listen on PORT.`,
    logTail,
  };
};

/** True if the log has more detail than the conditions. */
export const isHealthCheck = ({ reason }: DeployFailure): boolean => reason === "did_not_listen";

/** True if the log already says how the container ended. */
export const saysTheEnd = (lines: readonly RevisionLine[]): boolean =>
  lines.some(({ system, text }) => system && [EXITED, KILLED, OUT_OF_MEMORY].some((one) => one.test(text)));
