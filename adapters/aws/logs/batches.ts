/**
 * Splits events into batches that PutLogEvents accepts:
 * https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutLogEvents.html
 */

export interface InputEvent {
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  readonly message: string;
}

/** "The sum of all event messages in UTF-8, plus 26 bytes for each log event." */
const EVENT_BYTES = 26;
const BATCH_BYTES = 1_048_576;
const BATCH_EVENTS = 10_000;
/** "Each log event can be no larger than 1 MB", including its 26 bytes. */
const MAX_MESSAGE_BYTES = BATCH_BYTES - EVENT_BYTES;

export interface Batches {
  readonly batches: readonly (readonly InputEvent[])[];
  /** Events that exceed the size limit of one event. */
  readonly tooLarge: readonly InputEvent[];
}

export const batchesOf = (events: readonly InputEvent[]): Batches => {
  const batches: InputEvent[][] = [];
  const tooLarge: InputEvent[] = [];
  let bytes = 0;
  for (const event of events) {
    const size = Buffer.byteLength(event.message) + EVENT_BYTES;
    if (size > MAX_MESSAGE_BYTES + EVENT_BYTES) {
      tooLarge.push(event);
      continue;
    }
    bytes += size;
    const last = batches.at(-1);
    if (last !== undefined && bytes <= BATCH_BYTES && last.length < BATCH_EVENTS) last.push(event);
    else {
      batches.push([event]);
      bytes = size;
    }
  }
  return { batches, tooLarge };
};
