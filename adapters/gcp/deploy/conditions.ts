/**
 * Determines why a revision failed to start, from the codes of its conditions (run/v2/condition.proto). The code for a
 * failed health check covers several reasons. Cloud Run's lines in the log `run.googleapis.com/varlog/system` show
 * which one applies. Pure functions.
 */
import type { protos } from "@google-cloud/run";
import type { HealthCheck } from "../../../core/domain/deploy/health.ts";
import type { DeployFailure, DeployReason } from "../../../core/domain/deploy/reason.ts";
import type { ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";
import type { RevisionLine } from "../../cloud/deploy/last-lines.ts";

type Condition = Parameters<(typeof protos.google.cloud.run.v2)["Condition"]["create"]>[0] & object;

const messages: Partial<Record<DeployReason, string>> = {
  image_not_found: "Cloud Run cannot find the image. Deploy the source again.",
  permission:
    "Cloud Run does not have permission to use the image or another resource of the service. Ask the operator to run 'portside doctor'.",
  secret_unavailable:
    "Cloud Run cannot read one of the service's secrets: the permission has not taken effect yet, or the value was destroyed in Secret Manager. Deploy again in a few minutes.",
  quota_exceeded: "The service has reached Cloud Run's limit of active revisions. Deploy again later.",
  rollout_timeout: "Cloud Run did not start the revision within its time limit. Deploy again.",
  provider_unavailable: "Cloud Run failed to start the revision. Deploy again.",
  internal: "Cloud Run did not start the revision and gave no reason. Deploy again.",
};

const commonReasons: Readonly<Record<string, DeployReason>> = {
  PROGRESS_DEADLINE_EXCEEDED: "rollout_timeout",
  CONTAINER_MISSING: "image_not_found",
  CONTAINER_PERMISSION_DENIED: "permission",
  CONTAINER_IMAGE_UNAUTHORIZED: "permission",
  CONTAINER_IMAGE_AUTHORIZATION_CHECK_FAILED: "permission",
  ENCRYPTION_KEY_PERMISSION_DENIED: "permission",
  ENCRYPTION_KEY_CHECK_FAILED: "permission",
  SECRETS_ACCESS_CHECK_FAILED: "secret_unavailable",
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

/** Returns the failure for the first failed condition with a known reason; without one, the reason is `internal`. */
export const failureOfConditions = (conditions: readonly Condition[]): DeployFailure => {
  const reason = conditions.filter(isFailed).map(reasonOf).find(Boolean) ?? "internal";
  return { reason, message: messages[reason] ?? "The service did not start." };
};

/** Texts of Cloud Run's system log, from https://docs.cloud.google.com/run/docs/troubleshooting */
const EXITED = /^Container called exit\((\d+)\)/;
const KILLED = /^(?:Container terminated on signal|Uncaught signal:) (\d+)/;
/**
 * The image's command could not run: "terminated: Application failed to start: failed to load /app/run: exec format
 * error".
 */
const NOT_STARTED = /^(?:terminated: )?Application failed to start(?:: (.+))?/;
const isEnd = (text: string): boolean => [EXITED, KILLED, NOT_STARTED].some((one) => one.test(text));

const OUT_OF_MEMORY = /^Memory limit of \S+ \S+ exceeded/;

/**
 * The service responded to its HTTP startup probe, but not with success in time: "STARTUP HTTP probe failed 3 times
 * consecutively for container "app-1" on port 8080 path "/healthz". The instance was not started." A following
 * "Connection failed with status ERROR_CONNECTION_FAILED." means that nothing listened, and "CANCELLED" that the
 * container ended. Quoted in https://github.com/GoogleCloudPlatform/opentelemetry-operations-collector/issues/264
 */
const UNHEALTHY =
  /^STARTUP HTTP probe failed (?!.*\b(?:ERROR_CONNECTION_FAILED|CANCELLED)\b)(?:.*\bwith status (\w+))?/s;

const REFUSED = /^STARTUP HTTP probe failed .*\b(?:ERROR_CONNECTION_FAILED|CANCELLED)\b/s;

/** Matches a line that reports a denied mount. The wording is undocumented. */
const MOUNT_REFUSED = /mount.*\b(?:403|storage\.[a-z]+\.[a-z]+|permission denied)\b/is;

const mountRefused: DeployFailure = {
  reason: "volume_unavailable",
  message:
    "Cloud Run does not yet have permission to mount one of the service's volumes. Deploy again in a few minutes.",
};

/** True if a required permission may not have taken effect yet. */
export const isAccessRefused = ({ reason }: DeployFailure): boolean =>
  reason === mountRefused.reason || reason === "secret_unavailable";

const TAIL_LINES = 20;

const unhealthy = ({ path }: HealthCheck, status: string | undefined): DeployFailure => {
  const message = `The service's health check GET ${path} did not pass before the deadline.`;
  const reported = status === undefined ? "" : ` Cloud Run reported the status ${status}.`;
  return { reason: "unhealthy", message: `${message}${reported} Respond with a status from 200 to 399.` };
};

/**
 * Determines how a container failed its startup probe. The log shows whether the container ended, never listened, or
 * did not pass its health check.
 */
export const failureOfHealthCheck = (
  lines: readonly RevisionLine[],
  { port, health }: Pick<ServiceTemplate, "port" | "health">,
): DeployFailure => {
  const output = lines.filter(({ system }) => !system).slice(-TAIL_LINES);
  const logTail = output.map(({ text }) => text);
  const systemTexts = lines.flatMap(({ system, text }) => (system ? [text] : []));
  if (systemTexts.some((text) => OUT_OF_MEMORY.test(text)))
    return {
      reason: "out_of_memory",
      message: "The service exceeded its declared memory and was killed. Declare more memory.",
      logTail,
    };
  if (systemTexts.some((text) => MOUNT_REFUSED.test(text))) return { ...mountRefused, logTail };
  const probe = systemTexts.findLastIndex((text) => UNHEALTHY.test(text));
  const failedProbe = UNHEALTHY.exec(systemTexts[probe] ?? "");
  const hadEnded = systemTexts.slice(0, Math.max(probe, 0)).some(isEnd);
  // Cloud Run stops a container after the failed probe, so only an earlier end is the cause.
  if (health !== undefined && failedProbe !== null && !hadEnded)
    return { ...unhealthy(health, failedProbe[1]), logTail };
  const code = Number(systemTexts.map((text) => EXITED.exec(text)?.[1]).findLast(Boolean) ?? Number.NaN);
  if (!Number.isNaN(code))
    return {
      reason: code === 0 ? "exited" : "crashed",
      message: `The service exited with code ${code} before it was ready.`,
      exitCode: code,
      logTail,
    };
  const signal = systemTexts.map((text) => KILLED.exec(text)?.[1]).findLast(Boolean);
  if (signal !== undefined)
    return { reason: "crashed", message: `The service was killed by signal ${signal}.`, logTail };
  const notStarted = systemTexts.map((text) => NOT_STARTED.exec(text)).findLast(Boolean);
  if (notStarted != null)
    return {
      reason: "crashed",
      message: `The service's command could not be started: ${notStarted[1] ?? "Cloud Run gave no reason"}.`,
      logTail,
    };
  if (health !== undefined && !systemTexts.some((text) => REFUSED.test(text)))
    return { ...unhealthy(health, undefined), logTail };
  return {
    reason: "did_not_listen",
    message: `The service did not listen on port ${port} in time. Listen on 0.0.0.0 and the port in PORT.`,
    logTail,
  };
};

/** True if the log explains the failure better than the conditions. */
export const isHealthCheck = ({ reason }: DeployFailure): boolean => reason === "did_not_listen";

/** True if the log already shows how the container ended. */
export const showsContainerEnd = (lines: readonly RevisionLine[]): boolean =>
  lines.some(
    ({ system, text }) =>
      system && [EXITED, KILLED, OUT_OF_MEMORY, NOT_STARTED, MOUNT_REFUSED, UNHEALTHY].some((one) => one.test(text)),
  );
