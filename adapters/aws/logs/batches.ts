/**
 * Limits of PutLogEvents:
 * https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutLogEvents.html
 */
import type { BatchLimits } from "../../cloud/logs/batches.ts";

export interface InputEvent {
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  readonly message: string;
}

/** "The sum of all event messages in UTF-8, plus 26 bytes for each log event." */
const EVENT_BYTES = 26;
const BATCH_BYTES = 1_048_576;
const BATCH_EVENTS = 10_000;

const sizeOf = ({ message }: InputEvent): number => Buffer.byteLength(message) + EVENT_BYTES;

/** "Each log event can be no larger than 1 MB", including its 26 bytes. */
export const isSmallEnough = (event: InputEvent): boolean => sizeOf(event) <= BATCH_BYTES;

export const batchLimits: BatchLimits<InputEvent> = { sizeOf, maxSize: BATCH_BYTES, maxItems: BATCH_EVENTS };
