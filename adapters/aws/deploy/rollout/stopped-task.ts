/**
 * Determines why a task stopped, from the stop code, the container's exit code, and the error name at the start of the
 * task's or the container's reason. Pure.
 * https://docs.aws.amazon.com/AmazonECS/latest/developerguide/stopped-task-error-codes.html
 */
import type { Task } from "@aws-sdk/client-ecs";
import type { DeployFailure } from "../../../../core/domain/deploy/reason.ts";
import { CONTAINER } from "../records/names.ts";

/** Returns the error name at the start of a reason such as `CannotPullContainerError: ...`. */
const errorIn = (reason: string | undefined): string =>
  /^\s*([A-Za-z]+(?:Error|Exception))\b/.exec(reason ?? "")?.[1] ?? "";

const OUT_OF_MEMORY: DeployFailure = {
  reason: "out_of_memory",
  message: "The service exceeded its declared memory and was killed. Declare more memory.",
};

const errors: Readonly<Record<string, DeployFailure>> = {
  CannotPullContainerError: {
    reason: "image_not_found",
    message: "ECS could not pull the image. Deploy the source again.",
  },
  CannotPullImageManifestError: {
    reason: "image_not_found",
    message: "ECS could not pull the image. Deploy the source again.",
  },
  ResourceInitializationError: {
    reason: "permission",
    message:
      "ECS could not set up the service's image, secrets, log or volumes. The operator can find the reason in the server's log.",
  },
  CannotCreateVolumeError: {
    reason: "volume_unavailable",
    message: "ECS could not mount one of the service's volumes. Deploy again.",
  },
  CannotStartContainerError: {
    reason: "crashed",
    message: "The container did not start. Check the image's command.",
  },
  OutOfMemoryError: OUT_OF_MEMORY,
  InternalError: { reason: "provider_unavailable", message: "Fargate failed to start the service. Deploy again." },
  TaskFailedToStart: { reason: "provider_unavailable", message: "ECS failed to start the service. Deploy again." },
};

/**
 * EFS's error text: https://github.com/aws-samples/aws-cdk-examples/issues/920. Portside assumes that S3 Files uses the
 * same text.
 */
const REFUSED_MOUNT = /access denied by server while mounting/i;

const MOUNT_REFUSED: DeployFailure = {
  reason: "permission",
  message: "S3 Files rejected the mount of a volume. Deploy again in a few minutes.",
};

/**
 * True if S3 Files rejected a mount. Rejections may continue for minutes after a change of the file system's policy:
 * "policy changes can take several minutes to take effect",
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-files-file-system-policies-creating.html
 */
export const isRefusedMount = ({ stoppedReason, containers = [] }: Task): boolean =>
  [stoppedReason, ...containers.map(({ reason }) => reason)].some((text) => REFUSED_MOUNT.test(text ?? ""));

/** Matches `Task failed ELB health checks in (target-group ...)`. */
const FAILED_CHECKS = /health checks/i;

/**
 * True if ECS could not read a secret. Rejections may continue for a while after the role or the secret was created. A
 * new role may also be rejected while ECS logs in to the registry or assumes the role:
 * https://docs.aws.amazon.com/AmazonECS/latest/developerguide/resource-initialization-error.html
 */
export const isUnreadSecret = ({ stoppedReason = "" }: Task): boolean =>
  /^ResourceInitializationError: unable to pull secrets or registry auth|unable to assume the role/i.test(
    stoppedReason,
  );

/** Matches `unable to retrieve secret from asm`. */
const NO_SECRET = /unable to retrieve secret/i;

const SECRET_UNAVAILABLE: DeployFailure = {
  reason: "secret_unavailable",
  message:
    "ECS cannot read one of the service's secrets: the permission has not taken effect yet, or the value was deleted in Secrets Manager. Deploy again in a few minutes. If it fails again, set the secret again.",
};

/** Stop codes that are not the service's fault; ECS starts a replacement. */
const transientStopCodes: ReadonlySet<string> = new Set(["SpotInterruption", "TerminationNotice", "UserInitiated"]);

/**
 * Returns undefined if the stop does not fail the rollout, and `failed_checks` if ECS stopped the task because of its
 * health checks.
 */
export const failureOfTask = (task: Task): DeployFailure | "failed_checks" | undefined => {
  const { stopCode = "", stoppedReason, containers } = task;
  if (transientStopCodes.has(stopCode)) return undefined;
  if (isRefusedMount(task)) return MOUNT_REFUSED;
  if (NO_SECRET.test(stoppedReason ?? "")) return SECRET_UNAVAILABLE;
  const container = containers?.find(({ name }) => name === CONTAINER);
  const known = errors[errorIn(container?.reason)] ?? errors[errorIn(stoppedReason)];
  const { exitCode } = container ?? {};
  if (known !== undefined) return exitCode === undefined ? known : { ...known, exitCode };
  // ECS also stops tasks to scale the service, or to spread it over zones.
  if (stopCode === "ServiceSchedulerInitiated")
    return FAILED_CHECKS.test(stoppedReason ?? "") ? "failed_checks" : undefined;
  if (exitCode !== undefined)
    return {
      reason: exitCode === 0 ? "exited" : "crashed",
      message: `The service exited with code ${exitCode} before it was ready.`,
      exitCode,
    };
  return errors["TaskFailedToStart"];
};
