/** Follows the log of a deployment, page by page. */
import { fieldLimits } from "../../domain/accounts/limits.ts";
import type { LogPage } from "../../domain/logs/entry.ts";
import { followLog, WAIT_SECONDS } from "../../domain/logs/follow-log.ts";
import type { RequestFields } from "../../domain/wire/fields.ts";
import { millisOf } from "../../domain/wire/instant.ts";
import type { logsFields } from "../../domain/wire/requests.ts";
import type { ControlPlaneError } from "../../errors.ts";
import type { CallOptions, Clock } from "../../ports/system.ts";
import { err, ok, type Result, type ResultAsync } from "../../result.ts";

type LogsRequest = RequestFields<typeof logsFields>;
/** A request to follow a log. The order is always ascending, the range has no end, and `followLogs` sets `wait`. */
export type FollowRequest = Omit<LogsRequest, "until" | "order" | "wait">;

/**
 * Yields the entries of a log until the signal aborts. Retries while the log is unavailable, and waits if the account
 * exceeds its rate limit. Any other error is the last item.
 */
export async function* followLogs(
  clock: Clock,
  readPage: (request: LogsRequest, options: CallOptions) => ResultAsync<LogPage, ControlPlaneError>,
  request: FollowRequest,
  { signal }: CallOptions = {},
): AsyncGenerator<Result<LogPage["logs"][number], ControlPlaneError>> {
  const failed = new AbortController();
  let failure: ControlPlaneError | undefined;
  const either = AbortSignal.any([failed.signal, ...(signal === undefined ? [] : [signal])]);
  const { limit = fieldLimits.logs.max } = request;
  const read = async (since: string | undefined): Promise<LogPage | undefined> => {
    const page = await readPage({ ...request, limit, since, wait: WAIT_SECONDS }, { signal: either });
    if (page.isOk()) return page.value;
    if ("retryAfterSeconds" in page.error) await clock.sleep(page.error.retryAfterSeconds * 1000, either);
    else if (!either.aborted) {
      failure = page.error;
      failed.abort();
    }
    return undefined;
  };
  const wait = (millis: number) => clock.sleep(millis, either);
  const rows = followLog(read, {
    since: request.since ?? undefined,
    limit,
    signal: either,
    now: () => millisOf(clock.now()),
    wait,
  });
  for await (const row of rows) yield ok(row);
  if (failure !== undefined) yield err(failure);
}
