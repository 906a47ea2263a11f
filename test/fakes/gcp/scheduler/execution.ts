/** Executes a job once, over real HTTP: google/cloud/scheduler/v1/{job,target}.proto. */
import { type Instant, millisOf, timestampOf } from "../../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../../core/ports/system.ts";
import type { Message } from "../grpc.ts";
import { deadlineMillis, retryPauses } from "./rules.ts";

/** Headers that Cloud Scheduler replaces or ignores ("ignored or replaced": target.proto, `headers`). */
const isReplaced = (name: string): boolean =>
  /^(host|content-length|user-agent|x-google-.*|x-appengine-.*|x-cloudscheduler(-.*)?)$/i.test(name);

const headersOf = (job: Message, scheduled: Instant): Record<string, string> => ({
  ...Object.fromEntries(Object.entries<string>(job.httpTarget.headers).filter(([name]) => !isReplaced(name))),
  "User-Agent": "Google-Cloud-Scheduler",
  "X-CloudScheduler": "true",
  "X-CloudScheduler-JobName": job.name.split("/").at(-1),
  "X-CloudScheduler-ScheduleTime": timestampOf(scheduled),
});

/** "Acknowledged by means of an HTTP response code in the range [200 - 299]"; a timeout is a failure. */
const attempt = async (job: Message, scheduled: Instant, ended: AbortSignal): Promise<boolean> => {
  const signal = AbortSignal.any([ended, AbortSignal.timeout(deadlineMillis(job))]);
  const { uri, httpMethod } = job.httpTarget;
  const method = httpMethod === "HTTP_METHOD_UNSPECIFIED" ? "POST" : httpMethod;
  try {
    const answer = await fetch(uri, { method, headers: headersOf(job, scheduled), signal });
    await answer.arrayBuffer();
    return answer.status >= 200 && answer.status <= 299;
  } catch {
    return false;
  }
};

/**
 * Calls the target until it acknowledges, no retries are left, or the next fire is due. Returns whether it
 * acknowledged.
 */
export const execute = async (
  clock: Clock,
  job: Message,
  scheduled: Instant,
  nextFire: Instant | undefined,
  ended: AbortSignal,
): Promise<boolean> => {
  for (const pause of [...retryPauses(job), undefined]) {
    if (ended.aborted) return false;
    if (await attempt(job, scheduled, ended)) return true;
    if (pause === undefined) return false;
    const isTooLate = nextFire !== undefined && millisOf(clock.now()) + pause * 1000 >= millisOf(nextFire);
    if (isTooLate) return false;
    await clock.sleep(pause * 1000, ended);
  }
  return false;
};
