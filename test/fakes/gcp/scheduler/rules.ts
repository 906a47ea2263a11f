/** Validates a job: google/cloud/scheduler/v1/{job,target,cloudscheduler}.proto, which state the limits per field. */
import { isTimeZone, parseCron } from "../../../../core/domain/schedules/schedule.ts";
import { GrpcError, type Message } from "../grpc.ts";

const NAME = /^projects\/[A-Za-z0-9:.-]+\/locations\/[a-z0-9-]+\/jobs\/[A-Za-z0-9_-]{1,500}$/;

const secondsOf = (duration: Message | null): number =>
  duration === null ? 0 : Number(duration.seconds) + duration.nanos / 1e9;

const problemOf = (job: Message): string | undefined => {
  const { retryConfig: retry, httpTarget } = job;
  if (!NAME.test(job.name)) return `the name '${job.name}' is not one of a job`;
  if (job.description.length > 500) return "the description is longer than 500 characters";
  if (typeof parseCron(job.schedule) === "string") return `the schedule '${job.schedule}' is malformed`;
  if (!(job.timeZone === "" || job.timeZone === "utc" || isTimeZone(job.timeZone))) return "unknown time zone";
  if (httpTarget === null) return "a target is required";
  if (!/^https?:\/\//.test(httpTarget.uri)) return "the URI must begin with http:// or https://";
  if (httpTarget.uri.length > 2083) return "the URI is longer than 2083 characters";
  if (JSON.stringify(httpTarget.headers).length >= 80 * 1024) return "the headers have 80 KB or more";
  const deadline = job.attemptDeadline === null ? 180 : secondsOf(job.attemptDeadline);
  if (deadline < 15 || deadline > 1800) return "attempt_deadline must be in 15 s to 30 min";
  if (retry !== null && (retry.retryCount < 0 || retry.retryCount > 5)) return "retry_count must be in 0-5";
  return undefined;
};

const retryConfigOf = (retry: Message): Message => ({
  retryCount: retry.retryCount ?? 0,
  maxRetryDuration: retry.maxRetryDuration ?? { seconds: "0", nanos: 0 },
  minBackoffDuration: retry.minBackoffDuration ?? { seconds: "5", nanos: 0 },
  maxBackoffDuration: retry.maxBackoffDuration ?? { seconds: "3600", nanos: 0 },
  maxDoublings: retry.maxDoublings ?? 5,
});

/**
 * Fills in the documented defaults; throws INVALID_ARGUMENT if the job is invalid. A job written without a retry
 * configuration is returned without one: k8s-config-connector's recording
 * `pkg/test/resourcefixture/testdata/basic/cloudscheduler/v1beta1/cloudschedulerjob/cloudschedulerjob/_vcr_cassettes/nontf.yaml`.
 */
export const checkedJob = (job: Message): Message => {
  const problem = problemOf(job);
  if (problem !== undefined) throw new GrpcError("INVALID_ARGUMENT", problem);
  return {
    ...job,
    timeZone: job.timeZone || "Etc/UTC",
    attemptDeadline: job.attemptDeadline ?? { seconds: "180", nanos: 0 },
    retryConfig: job.retryConfig && retryConfigOf(job.retryConfig),
  };
};

/** Delay before each retry, in seconds: doubles `max_doublings` times, then linear, at most `max_backoff_duration`. */
export const retryPauses = ({ retryConfig }: Message): readonly number[] => {
  const retry = retryConfig ?? retryConfigOf({});
  const [least, most] = [secondsOf(retry.minBackoffDuration), secondsOf(retry.maxBackoffDuration)];
  return Array.from({ length: retry.retryCount }, (_, index) => {
    const doublings = Math.min(index, retry.maxDoublings);
    const linear = Math.max(0, index - retry.maxDoublings);
    return Math.min(least * 2 ** doublings * (1 + linear), most);
  });
};

export const deadlineMillis = ({ attemptDeadline }: Message): number => secondsOf(attemptDeadline) * 1000;
