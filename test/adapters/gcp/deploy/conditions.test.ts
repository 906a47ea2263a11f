/** Maps Cloud Run's codes to the closed set of reasons in `deployReasons`. */
import type { protos } from "@google-cloud/run";
import { expect, test } from "vitest";
import {
  failureOfConditions,
  failureOfHealthCheck,
  showsContainerEnd,
} from "../../../../adapters/gcp/deploy/conditions.ts";

type Condition = protos.google.cloud.run.v2.ICondition;
const failed = (reason: Condition): Condition => ({ type: "Ready", state: "CONDITION_FAILED", ...reason });

test.each([
  [failed({ reason: "CONTAINER_MISSING" }), "image_not_found"],
  [failed({ reason: "CONTAINER_PERMISSION_DENIED" }), "permission"],
  [failed({ reason: "CONTAINER_IMAGE_UNAUTHORIZED" }), "permission"],
  [failed({ reason: "SECRETS_ACCESS_CHECK_FAILED" }), "secret_unavailable"],
  [failed({ reason: "PROGRESS_DEADLINE_EXCEEDED" }), "rollout_timeout"],
  [failed({ reason: "INTERNAL" }), "provider_unavailable"],
  [failed({ reason: "UNKNOWN" }), "internal"],
  [failed({ revisionReason: "HEALTH_CHECK_CONTAINER_ERROR" }), "did_not_listen"],
  [failed({ revisionReason: "ACTIVE_REVISION_LIMIT_REACHED" }), "quota_exceeded"],
])("%j", (condition, reason) => {
  // The service's condition reports only that the revision failed. A failed condition with a more specific reason wins.
  const others = [failed({ reason: "REVISION_FAILED" }), { ...condition, state: "CONDITION_SUCCEEDED" as const }];
  expect(failureOfConditions([...others, condition])).toMatchObject({ reason });
});

const system = (text: string) => ({ system: true, text });
const own = (text: string) => ({ system: false, text });

test.each([
  [[system("Container called exit(0).")], { reason: "exited", exitCode: 0 }],
  [[own("boom"), system("Container called exit(7).")], { reason: "crashed", exitCode: 7, logTail: ["boom"] }],
  [[system("Container terminated on signal 11.")], { reason: "crashed" }],
  [
    [system("Uncaught signal: 6, pid=1, tid=1, fault_addr=0.")],
    { reason: "crashed", message: "The service was killed by signal 6." },
  ],
  [
    [system("terminated: Application failed to start: failed to load /app/run: exec format error")],
    {
      reason: "crashed",
      message: "The service's command could not be started: failed to load /app/run: exec format error.",
    },
  ],
  [[system("Application failed to start")], { reason: "crashed", message: expect.stringContaining("gave no reason") }],
  [[own("Application failed to start: boom")], { reason: "did_not_listen" }],
  [[system("Memory limit of 512 MiB exceeded with 530 MiB used.")], { reason: "out_of_memory" }],
  // A service must not be able to imitate Cloud Run's messages.
  [[own("Container called exit(7).")], { reason: "did_not_listen", logTail: ["Container called exit(7)."] }],
  [[], { reason: "did_not_listen", logTail: [] }],
])("the log %j", (lines, failure) => {
  expect(failureOfHealthCheck(lines, { port: 8080 })).toMatchObject(failure);
});

const PROBE = 'STARTUP HTTP probe failed 3 times consecutively for container "app-1" on port 8080 path "/healthz".';
const CANCELLED =
  'STARTUP HTTP probe failed 1 time consecutively for container "app-1" on port 8080 path "/healthz". The instance was not started. Connection failed with status CANCELLED.';
const health = { path: "/healthz", interval: 10, timeout: 5, failures: 3 };
const NOT_PASSED = "The service's health check GET /healthz did not pass before the deadline.";
const FIX = "Respond with a status from 200 to 399.";

test.each([
  [[system(`${PROBE} The instance was not started.`)], { reason: "unhealthy", message: `${NOT_PASSED} ${FIX}` }],
  [
    [own("slow"), system(`${PROBE} The instance was not started.\nConnection failed with status DEADLINE_EXCEEDED.`)],
    {
      reason: "unhealthy",
      message: `${NOT_PASSED} Cloud Run reported the status DEADLINE_EXCEEDED. ${FIX}`,
      logTail: ["slow"],
    },
  ],
  [
    [system(`${PROBE} The instance was not started. Connection failed with status ERROR_CONNECTION_FAILED.`)],
    { reason: "did_not_listen" },
  ],
  // Cloud Run stops the container after the failed probe.
  [[system(PROBE), system("Container called exit(0).")], { reason: "unhealthy" }],
  [
    [system("Container called exit(7)."), system(`${PROBE} ERROR_CONNECTION_FAILED`)],
    { reason: "crashed", exitCode: 7 },
  ],
  // A container that ends closes the connection of a running probe.
  [[system("Container called exit(1)."), system(CANCELLED)], { reason: "crashed", exitCode: 1 }],
  [[system(CANCELLED), system("Container called exit(1).")], { reason: "crashed", exitCode: 1 }],
  [[system("Container terminated on signal 11."), system(PROBE)], { reason: "crashed" }],
  [[system("Application failed to start: not found"), system(PROBE)], { reason: "crashed" }],
  [[system(CANCELLED)], { reason: "did_not_listen" }],
  [[system(PROBE), system("Memory limit of 512 MiB exceeded with 530 MiB used.")], { reason: "out_of_memory" }],
  [[], { reason: "unhealthy", message: `${NOT_PASSED} ${FIX}` }],
  [[own(PROBE), system("Container called exit(7).")], { reason: "crashed" }],
])("the log %j of a service with a health check", (lines, failure) => {
  expect(failureOfHealthCheck(lines, { port: 8080, health })).toMatchObject(failure);
});

test("the tail has the last twenty lines", () => {
  const lines = Array.from({ length: 30 }, (_, index) => own(`line ${index}`));
  expect(failureOfHealthCheck(lines, { port: 8080 }).logTail).toEqual(lines.slice(10).map(({ text }) => text));
});

test.each([
  ["Container called exit(1).", true],
  ["Uncaught signal: 11, pid=1, tid=1, fault_addr=0.", true],
  ["Application failed to start: not found", true],
  [PROBE, true],
  [`${PROBE} Connection failed with status ERROR_CONNECTION_FAILED.`, false],
  [CANCELLED, false],
  ["Starting new instance. Reason: DEPLOYMENT_ROLLOUT", false],
])("'%s' shows the end of the container: %s", (text, isEnd) => {
  expect(showsContainerEnd([system(text)])).toBe(isEnd);
  expect(showsContainerEnd([own(text)])).toBe(false);
});
