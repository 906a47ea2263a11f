/**
 * Marks images as used or as being removed, in the objects `images/TAG.json` of the state bucket. A deploy marks its
 * image as used before it looks for the image. A removal marks the image only if the mark has not changed since the
 * removal read it. Therefore, no removal deletes an image that a running deploy has found.
 *
 * The age of an image does not show whether the image is used: if the same bytes are pushed again, even for another
 * account, ECR keeps the time of the first push.
 */
import { z } from "zod";
import { millisOf } from "../../../../core/domain/wire/instant.ts";
import type { Unavailable } from "../../../../core/errors.ts";
import type { Clock } from "../../../../core/ports/system.ts";
import { err, ok, type Result, ResultAsync, safeTry } from "../../../../core/result.ts";
import { isState, type RetryOptions, throwState } from "../../call-policy.ts";
import { parseJson } from "../../state/parse-json.ts";
import type { StateBucket, StateObject } from "../../state/state-bucket.ts";
import { FREED_TAG } from "../records/records.ts";

/** Times are milliseconds since 1970. */
const markSchema = z.discriminatedUnion("state", [
  z.object({ state: z.literal("used"), at: z.number() }),
  z.object({ state: z.literal("removing"), until: z.number() }),
  z.object({ state: z.literal("removed") }),
]);

type Mark = z.output<typeof markSchema>;

/** How long deploys of an image wait for a removal whose server has died, in milliseconds. */
const REMOVAL_MS = 60_000;
const PAUSE_MS = 500;

export interface ImageMarks {
  /** Marks an image as used. Waits while another server removes the image. */
  use(tag: string, retry?: RetryOptions): ResultAsync<void, Unavailable>;
  /**
   * Calls `remove` if no deploy has used the image since `cutoff` and no other server is removing it. Until `remove`
   * ends, deploys of the image wait. `remove` must end within half a minute. Returns whether `remove` was called.
   *
   * @param cutoff milliseconds since 1970; must be earlier than the start of every running deploy
   */
  removeUnused(
    tag: string,
    cutoff: number,
    remove: () => ResultAsync<void, Unavailable>,
    retry?: RetryOptions,
  ): ResultAsync<boolean, Unavailable>;
}

const keyOf = (tag: string): string => `images/${tag}.json`;

const markIn = (found: StateObject | null): Mark | undefined =>
  found === null ? undefined : markSchema.safeParse(parseJson(found.text)).data;

export const createImageMarks = (bucket: StateBucket, clock: Clock): ImageMarks => {
  const now = (): number => millisOf(clock.now());

  /** Returns the new ETag; undefined if another server has changed the mark. */
  const write = async (
    tag: string,
    mark: Mark,
    found: Pick<StateObject, "etag"> | null,
    retry: RetryOptions,
  ): Promise<Result<string | undefined, Unavailable>> => {
    const tags = mark.state === "removed" ? FREED_TAG : "";
    const condition = found === null ? "absent" : { etag: found.etag };
    const put = await bucket.put(keyOf(tag), JSON.stringify(mark), condition, tags, retry);
    if (put.isOk()) return ok(put.value);
    return isState(put, "exists", "changed", "not_found") ? ok(undefined) : err(throwState(put.error));
  };

  const use = async (tag: string, retry: RetryOptions): Promise<Result<void, Unavailable>> => {
    for (;;) {
      const found = await bucket.get(keyOf(tag), retry);
      if (found.isErr()) return err(found.error);
      const mark = markIn(found.value);
      if (mark?.state !== "removing" || mark.until <= now()) {
        const written = await write(tag, { state: "used", at: now() }, found.value, retry);
        if (written.isErr()) return err(written.error);
        if (written.value !== undefined) return ok(undefined);
      }
      // The caller ends the deploy.
      if (retry.signal?.aborted) return ok(undefined);
      await clock.sleep(PAUSE_MS, retry.signal);
    }
  };

  const isFree = (mark: Mark | undefined, cutoff: number): boolean => {
    if (mark?.state === "used") return mark.at <= cutoff;
    return mark?.state !== "removing" || mark.until <= now();
  };

  return {
    use: (tag, retry = {}) => new ResultAsync(use(tag, retry)),

    removeUnused: (tag, cutoff, remove, retry = {}) =>
      safeTry(async function* () {
        const found = yield* await bucket.get(keyOf(tag), retry);
        if (!isFree(markIn(found), cutoff)) return ok(false);
        const etag = yield* await write(tag, { state: "removing", until: now() + REMOVAL_MS }, found, retry);
        if (etag === undefined) return ok(false);
        const removed = await remove();
        yield* await write(tag, { state: "removed" }, { etag }, retry);
        return removed.map(() => true);
      }),
  };
};
