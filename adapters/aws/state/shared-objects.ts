/**
 * Objects in the state bucket that several calls change at the same time. A change is written only if no other call has
 * written the object since it was read. S3 is strongly consistent, so a read returns the last write.
 */
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { Clock, Logger } from "../../../core/ports/system.ts";
import { err, ok, type Result, type ResultAsync, safeTry } from "../../../core/result.ts";
import { isState, type RetryOptions, throwState } from "../call-policy.ts";
import type { StateBucket } from "./state-bucket.ts";

/** A kind of object. */
export interface ObjectFormat<T> {
  /** Names an object in messages, such as "the list of the account's secrets". */
  readonly name: (key: string) => string;
  /** Returns undefined if the text is damaged. */
  readonly parse: (text: string) => T | undefined;
  readonly render: (value: T) => string;
  /** The tags of the object; none by default. */
  readonly tags?: (value: T) => string;
}

/**
 * Receives null if the object does not exist. Returns the new value, or what it received if there is nothing to write.
 */
export type ObjectChange<T, E> = (found: T | null) => Result<T | null, E>;

export interface SharedObjects<T> {
  /** Returns null if the object does not exist. */
  read(key: string, retry?: RetryOptions): ResultAsync<T | null, Unavailable>;
  /**
   * Writes a changed object, and returns its value. Repeats the change if another call has written the object in the
   * meantime.
   */
  update<E>(key: string, change: ObjectChange<T, E>, retry?: RetryOptions): ResultAsync<T | null, E | Unavailable>;
}

/** Maximum attempts of a write. */
const TRIES = 20;
const PAUSE_MS = 50;

interface Seen<T> {
  readonly found: T | null;
  readonly etag: string;
}

export const createSharedObjects = <T>(
  bucket: StateBucket,
  { name, parse, render, tags = () => "" }: ObjectFormat<T>,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): SharedObjects<T> => {
  const see = (key: string, retry?: RetryOptions): ResultAsync<Seen<T>, Unavailable> =>
    bucket.get(key, retry).andThen((object): Result<Seen<T>, Unavailable> => {
      if (object === null) return ok({ found: null, etag: "" });
      const found = parse(object.text);
      if (found !== undefined) return ok({ found, etag: object.etag });
      logger.error("an object in the state bucket is damaged", { key });
      return err(
        unavailable(
          `The platform cannot read ${name(key)}, because it is damaged. The operator can find the object's name in the server's log.`,
          60,
        ),
      );
    });

  /** Returns false if another call has written the object since it was read. */
  const write = (key: string, { found, etag }: Seen<T>, next: T, retry?: RetryOptions) =>
    safeTry<boolean, Unavailable>(async function* () {
      const condition = found === null ? ("absent" as const) : { etag };
      const written = await bucket.put(key, render(next), condition, tags(next), retry);
      if (isState(written, "changed", "exists", "not_found")) return ok(false);
      return written.map(() => true).mapErr(throwState);
    });

  return {
    read: (key, retry) => see(key, retry).map(({ found }) => found),

    update: <E>(key: string, change: ObjectChange<T, E>, retry?: RetryOptions) =>
      safeTry<T | null, E | Unavailable>(async function* () {
        for (let tries = 1; tries <= TRIES; tries++) {
          const seen = yield* await see(key, retry);
          const next = yield* change(seen.found);
          if (next === seen.found || next === null) return ok(next);
          if (yield* await write(key, seen, next, retry)) return ok(next);
          if (tries > 1) await clock.sleep(PAUSE_MS * tries, retry?.signal);
        }
        return err(unavailable(`Too many calls change ${name(key)}. Try again.`, 5));
      }),
  };
};
