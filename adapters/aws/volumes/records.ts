/** An account's volume records in the state bucket. A read returns the whole document; writes are conditional. */
import { type Instant, millisOf } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CallOptions, Clock, Ids } from "../../../core/ports/system.ts";
import { err, ok, okAsync, type Result, safeTry } from "../../../core/result.ts";
import { recordsKey } from "./names.ts";
import { parseRecords, printRecords, type VolumeRecord } from "./record.ts";
import type { ApiResult, PutCondition, S3Api } from "./s3-calls.ts";

/** Milliseconds after which a hidden volume reappears if its caller neither completes nor aborts the delete. */
const HIDDEN_MS = 60_000;

/** Limits the retries: concurrent calls for one account's volumes write the same object. */
const TRIES = 40;
const PAUSE_MS = 20;
const MAX_PAUSE_MS = 1000;

/** The decision of a change: write a volume's new state, or stop with this result. */
export type Decision<T> = { readonly put: Omit<VolumeRecord, "call" | "at"> } | { readonly stop: T };

/** The new record, or the result with which a change stopped. */
type Changed<T> = { readonly record: VolumeRecord } | { readonly stop: T };

/** Returns the new record, or the result with which the change stopped. */
export const outcomeOf = <T>(changed: Changed<T>): VolumeRecord | T =>
  "record" in changed ? changed.record : changed.stop;

export interface RecordsDeps {
  readonly api: S3Api;
  /** The state bucket. */
  readonly bucket: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random?: (() => number) | undefined;
}

interface Page {
  readonly all: readonly VolumeRecord[];
  readonly etag: string | undefined;
}

/** Identifies accounts by their digests (`account-digest.ts`). */
export interface Records {
  of(account: string, options: CallOptions): ApiResult<readonly VolumeRecord[]>;
  /** Undefined if the account has no volume with this id. */
  get(account: string, id: string, options: CallOptions): ApiResult<VolumeRecord | undefined>;
  /** Age in milliseconds. */
  ageOf(at: Instant): number;
  /** True if the volume has been hidden for so long that it must reappear. */
  isForgotten(record: VolumeRecord): boolean;
  /**
   * Writes the volume that `decide` returns. If the document has changed since the read, reads it and calls `decide`
   * again. If a response was lost, the call's id in the record shows that the write was applied.
   */
  change<T>(
    account: string,
    decide: (all: readonly VolumeRecord[]) => Decision<T>,
    options: CallOptions,
  ): ApiResult<Changed<T>>;
  /** Like `change`, for one volume: `decide` also gets the volume with this id. */
  changeVolume<T>(
    account: string,
    id: string,
    decide: (found: VolumeRecord | undefined, all: readonly VolumeRecord[]) => Decision<T>,
    options: CallOptions,
  ): ApiResult<Changed<T>>;
  /** Removes the record of a volume whose bucket is deleted. */
  drop(account: string, id: string, options: CallOptions): ApiResult<void>;
}

const byId = (all: readonly VolumeRecord[], id: string): VolumeRecord | undefined => all.find((one) => one.id === id);

export const createRecords = ({ api, bucket, clock, ids, random = Math.random }: RecordsDeps): Records => {
  const ageOf = (at: Instant): number => millisOf(clock.now()) - millisOf(at);

  const read = (account: string, options: CallOptions): ApiResult<Page> => {
    const key = recordsKey(account);
    return api.text(bucket, key, options).andThen((found): Result<Page, Unavailable> => {
      if (found === "not_found") return ok({ all: [], etag: undefined });
      const all = parseRecords(found.text);
      if (all !== undefined) return ok({ all, etag: found.etag });
      const why = "a newer version of the platform may have written it";
      return err(unavailable(`The object '${key}' in '${bucket}' is not readable; ${why}.`));
    });
  };

  /** Returns false if another call has changed the document. */
  const write = (
    account: string,
    all: readonly VolumeRecord[],
    etag: string | undefined,
    options: CallOptions,
  ): ApiResult<boolean> => {
    const condition: PutCondition = etag === undefined ? { IfNoneMatch: "*" } : { IfMatch: etag };
    return api
      .putText(bucket, recordsKey(account), printRecords(all), condition, options)
      .map((end) => end !== "changed");
  };

  const untilDone = <T>(attempt: () => ApiResult<T | undefined>, { signal }: CallOptions): ApiResult<T> =>
    safeTry(async function* () {
      for (let tries = 0; tries < TRIES && signal?.aborted !== true; tries++) {
        const done = yield* await attempt();
        if (done !== undefined) return ok(done);
        await clock.sleep(Math.min(PAUSE_MS * (tries + 1), MAX_PAUSE_MS) * random(), signal);
      }
      return err(unavailable("Too many concurrent calls for the account's volumes. Try again."));
    });

  const of: Records["of"] = (account, options) => read(account, options).map(({ all }) => all);

  const change: Records["change"] = (account, decide, options) => {
    const call = ids.id();
    const attempt = () =>
      safeTry(async function* () {
        const { all, etag } = yield* await read(account, options);
        const done = all.find((one) => one.call === call);
        if (done !== undefined) return ok({ record: done });
        const decision = decide(all);
        if ("stop" in decision) return ok(decision);
        const record = { ...decision.put, call, at: clock.now() };
        const isKnown = byId(all, record.id) !== undefined;
        const next = isKnown ? all.map((one) => (one.id === record.id ? record : one)) : [...all, record];
        return write(account, next, etag, options).map((written) => (written ? { record } : undefined));
      });
    return untilDone(attempt, options);
  };

  return {
    of,
    get: (account, id, options) => of(account, options).map((all) => byId(all, id)),
    ageOf,
    isForgotten: ({ state, at }) => state === "hidden" && ageOf(at) >= HIDDEN_MS,
    change,
    changeVolume: (account, id, decide, options) => change(account, (all) => decide(byId(all, id), all), options),

    drop: (account, id, options) => {
      const attempt = () =>
        read(account, options).andThen(({ all, etag }) => {
          if (byId(all, id) === undefined) return okAsync(true);
          const left = all.filter((one) => one.id !== id);
          return write(account, left, etag, options).map((written) => written || undefined);
        });
      return untilDone<boolean>(attempt, options).map(() => undefined);
    },
  };
};
