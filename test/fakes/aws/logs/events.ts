/** Events of the fake CloudWatch Logs: the constraints of a put, and the order of stored events. */
import type { Message } from "../protocols.ts";
import { AwsError } from "../server.ts";

export interface KeptEvent {
  readonly stream: string;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  readonly ingestionTime: number;
  /** The number of the put request, and the event's index in it. */
  readonly request: number;
  readonly index: number;
  readonly message: string;
  readonly eventId: string;
  /** In milliseconds. */
  readonly visibleAt: number;
}

const BATCH_BYTES = 1_048_576;
const EVENT_BYTES = 26;
const BATCH_EVENTS = 10_000;
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

export const invalid = (message: string): AwsError => new AwsError("InvalidParameterException", message);

/** Validates a batch and drops rejected events: .../AmazonCloudWatchLogs/latest/APIReference/API_PutLogEvents.html */
export const checkedBatch = (events: readonly Message[], now: number) => {
  if (events.length === 0 || events.length > BATCH_EVENTS) throw invalid("a batch has 1 to 10,000 events");
  const sizes = events.map(({ message }) => Buffer.byteLength(message) + EVENT_BYTES);
  // "The minimum length of message is 1" (InputLogEvent in the service model).
  if (events.some(({ message }) => message === "")) throw invalid("an event needs a message");
  if (sizes.some((size) => size > BATCH_BYTES)) throw invalid("Log event too large: 1 MB at most");
  if (sizes.reduce((sum, size) => sum + size, 0) > BATCH_BYTES)
    throw invalid("Upload too large: 1048576 bytes at most");
  const times: number[] = events.map(({ timestamp }) => timestamp);
  if (times.some((time, index) => index > 0 && time < (times[index - 1] as number)))
    throw invalid("Log events in a single PutLogEvents request must be in chronological order.");
  const tooOld = times.filter((time) => time < now - 14 * DAY_MS).length;
  const tooNew = times.findIndex((time) => time > now + 2 * HOUR_MS);
  const valid = events.slice(tooOld, tooNew < 0 ? undefined : tooNew);
  if (valid.length > 1 && valid.at(-1).timestamp - valid[0].timestamp > DAY_MS)
    throw invalid("The batch of log events in a single PutLogEvents request cannot span more than 24 hours.");
  return {
    valid,
    rejected:
      tooOld === 0 && tooNew < 0
        ? undefined
        : {
            ...(tooOld === 0 ? {} : { tooOldLogEventEndIndex: tooOld }),
            ...(tooNew < 0 ? {} : { tooNewLogEventStartIndex: tooNew }),
          },
  };
};

/** "Sorted by event timestamp, the timestamp when the event was ingested, and the ID of the PutLogEvents request." */
export const compareEvents = (a: KeptEvent, b: KeptEvent): number =>
  a.timestamp - b.timestamp || a.ingestionTime - b.ingestionTime || a.request - b.request || a.index - b.index;
