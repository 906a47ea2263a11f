/**
 * Classifies why a task stopped: by stop code, by the container's exit code, and by the error name at the start of either
 * reason. Pure. https://docs.aws.amazon.com/AmazonECS/latest/developerguide/stopped-task-error-codes.html
 */
import type { Task } from "@aws-sdk/client-ecs";
import type { DeployFailure } from "../../../../core/domain/deploy/reason.ts";
import { CONTAINER } from "../records/names.ts";

/** The error's name in `CannotPullContainerError: ...`. */
const errorIn = (reason: string | undefined): string =>
  /^\s*([A-Za-z]+(?:Error|Exception))\b/.exec(reason ?? "")?.[1] ?? "";

const OUT_OF_MEMORY: DeployFailure = {
  reason: "out_of_memory",
  message: "The service was ended for using more memory than declared; declare more.",
};

const errors: Readonly<Record<string, DeployFailure>> = {
  CannotPullContainerError: {
    reason: "image_not_found",
    message: "ECS could not get the image; deploy the source again.",
  },
  CannotPullImageManifestError: {
    reason: "image_not_found",
    message: "ECS could not get the image; deploy the source again.",
  },
  ResourceInitializationError: {
    reason: "permission",
    message:
      "ECS could not set up what the service needs: its image, its log or its volumes; the operator can see why.",
  },
  CannotCreateVolumeError: { reason: "volume_unavailable", message: "ECS could not mount a volume of the service." },
  CannotStartContainerError: {
    reason: "crashed",
    message: "The container could not be started; look at the image's command.",
  },
  OutOfMemoryError: OUT_OF_MEMORY,
  InternalError: { reason: "provider_unavailable", message: "Fargate failed to start the service; deploy again." },
  TaskFailedToStart: { reason: "provider_unavailable", message: "ECS failed to start the service; deploy again." },
};

/** Stop codes that are not the service's fault; ECS starts a replacement. */
const passing: ReadonlySet<string> = new Set(["SpotInterruption", "TerminationNotice", "UserInitiated"]);

export const didNotListen = (port: number): DeployFailure => ({
  reason: "did_not_listen",
  message: `Nothing answered HTTP on port ${port} of all addresses (0.0.0.0) in time, or it answered with an error of its own (5xx) at '/'; listen on PORT.`,
});

/** Undefined: the task's end does not fail the rollout. */
export const failureOfTask = (task: Task, port: number): DeployFailure | undefined => {
  const { stopCode = "", stoppedReason, containers } = task;
  if (passing.has(stopCode)) return undefined;
  const container = containers?.find(({ name }) => name === CONTAINER);
  const known = errors[errorIn(container?.reason)] ?? errors[errorIn(stoppedReason)];
  const { exitCode } = container ?? {};
  if (known !== undefined) return exitCode === undefined ? known : { ...known, exitCode };
  // Health checks failed, and ECS stopped the task to try another.
  if (stopCode === "ServiceSchedulerInitiated") return didNotListen(port);
  if (exitCode !== undefined)
    return {
      reason: exitCode === 0 ? "exited" : "crashed",
      message: `The service ended with exit code ${exitCode} instead of listening on PORT.`,
      exitCode,
    };
  return errors["TaskFailedToStart"];
};
