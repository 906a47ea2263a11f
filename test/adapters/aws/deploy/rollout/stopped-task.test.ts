/** Classifies stopped tasks by their codes and reasons. */
import { expect, test } from "vitest";
import { failureOfTask } from "../../../../../adapters/aws/deploy/rollout/stopped-task.ts";

const exited = (exitCode: number, reason?: string) => ({
  stopCode: "EssentialContainerExited" as const,
  containers: [{ name: "app", exitCode, ...(reason && { reason }) }],
});

test.each([
  [exited(0), { reason: "exited", exitCode: 0 }],
  [exited(3), { reason: "crashed", exitCode: 3 }],
  [exited(137), { reason: "crashed", exitCode: 137 }],
  [exited(137, "OutOfMemoryError: Container killed due to memory usage"), { reason: "out_of_memory", exitCode: 137 }],
  [
    { stopCode: "TaskFailedToStart" as const, stoppedReason: "CannotPullContainerError: pull access denied" },
    { reason: "image_not_found" },
  ],
  [
    { stopCode: "TaskFailedToStart" as const, stoppedReason: "ResourceInitializationError: unable to pull secrets" },
    { reason: "permission" },
  ],
  [
    { stopCode: "TaskFailedToStart" as const, stoppedReason: "CannotCreateVolumeError: volume" },
    { reason: "volume_unavailable" },
  ],
  [{ stopCode: "TaskFailedToStart" as const, stoppedReason: "Something new" }, { reason: "provider_unavailable" }],
  [
    {
      stopCode: "ServiceSchedulerInitiated" as const,
      stoppedReason: "Task failed ELB health checks in (target-group x)",
    },
    "failed_checks",
  ],
])("%j", (task, failure) => {
  expect(failureOfTask(task)).toEqual(typeof failure === "string" ? failure : expect.objectContaining(failure));
});

test("a task that ECS stops to spread or scale the service does not end a rollout", () => {
  const stoppedReason = "Scaling activity initiated by (deployment ecs-svc/1234567890123456789)";
  expect(failureOfTask({ stopCode: "ServiceSchedulerInitiated", stoppedReason })).toBeUndefined();
});

test.each(["SpotInterruption", "TerminationNotice", "UserInitiated"] as const)(
  "%s does not end a rollout",
  (stopCode) => {
    expect(failureOfTask({ stopCode, containers: [{ name: "app", exitCode: 143 }] })).toBeUndefined();
  },
);

test("a sidecar's exit code is not the service's", () => {
  const task = { stopCode: "EssentialContainerExited" as const, containers: [{ name: "sidecar", exitCode: 1 }] };
  expect(failureOfTask(task)).not.toHaveProperty("exitCode");
});
