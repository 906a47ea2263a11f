/** An account's volume records in the state bucket. A read returns the whole document; writes are conditional. */
import { millisOf } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { Clock, Ids } from "../../../core/ports/system.ts";
import { err, ok, okAsync, type Result, safeTry } from "../../../core/result.ts";
import type { ApiResult } from "../../cloud/calls/expect-states.ts";
import type { Change, VolumeRecords } from "../../cloud/volumes/driver.ts";
import type { RecordState } from "../../cloud/volumes/record.ts";
import { recordsKey } from "./names.ts";
import { type AwsVolume, inState, parseRecords, printRecords } from "./record.ts";
import type { PutCondition, S3Api } from "./s3-calls.ts";

/** Maximum attempts of a write. Concurrent calls for one account's volumes write the same object. */
const TRIES = 40;
const PAUSE_MS = 20;
const MAX_PAUSE_MS = 1000;

/** The decision of an update: write a volume's new record, or stop with this result. */
export type Decision<T> = { readonly put: Omit<AwsVolume, "call" | "at"> } | { readonly stop: T };

export interface RecordsDeps {
  readonly api: S3Api;
  /** The state bucket. */
  readonly bucket: string;
  /** The digest of the account (`account-digest.ts`). */
  readonly account: string;
  readonly signal: AbortSignal | undefined;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random?: (() => number) | undefined;
}

interface Page {
  readonly all: readonly AwsVolume[];
  readonly etag: string | undefined;
}

export interface Records extends VolumeRecords<AwsVolume> {
  /** Returns undefined if the account has no volume with this id. */
  get(id: string): ApiResult<AwsVolume | undefined>;
  change(
    id: string,
    to: RecordState,
    condition: (record: AwsVolume) => boolean,
    deletedAt?: AwsVolume["deletedAt"],
  ): ApiResult<Change<AwsVolume>>;
  /**
   * Like `change`, but `decide` receives all of the account's volumes. Returns the written record, or the `stop` value
   * of the decision.
   */
  update<T>(decide: (all: readonly AwsVolume[]) => Decision<T>): ApiResult<Updated<T>>;
  /** Removes the record of a volume that has no bucket. */
  drop(id: string): ApiResult<void>;
}

type Updated<T> = { readonly record: AwsVolume } | { readonly stop: T };

export const byId = (all: readonly AwsVolume[], id: string): AwsVolume | undefined => all.find((one) => one.id === id);

export const createRecords = (deps: RecordsDeps): Records => {
  const { api, bucket, account, signal, clock, ids, random = Math.random } = deps;
  const key = recordsKey(account);

  const read = (): ApiResult<Page> =>
    api.text(bucket, key).andThen((found): Result<Page, Unavailable> => {
      if (found === "not_found") return ok({ all: [], etag: undefined });
      const all = parseRecords(found.text);
      if (all !== undefined) return ok({ all, etag: found.etag });
      const why = "a newer version of the platform may have written it";
      return err(unavailable(`The object '${key}' in '${bucket}' is not readable; ${why}.`));
    });

  /** Returns false if another call has changed the document. */
  const write = (all: readonly AwsVolume[], etag: string | undefined): ApiResult<boolean> => {
    const condition: PutCondition = etag === undefined ? { IfNoneMatch: "*" } : { IfMatch: etag };
    return api.putText(bucket, key, printRecords(all), condition).map((end) => end !== "changed");
  };

  const untilDone = <T>(attempt: () => ApiResult<T | undefined>): ApiResult<T> =>
    safeTry(async function* () {
      for (let tries = 0; tries < TRIES && signal?.aborted !== true; tries++) {
        const done = yield* await attempt();
        if (done !== undefined) return ok(done);
        await clock.sleep(Math.min(PAUSE_MS * (tries + 1), MAX_PAUSE_MS) * random(), signal);
      }
      return err(unavailable("Too many concurrent calls for the account's volumes. Try again."));
    });

  const update: Records["update"] = (decide) => {
    const call = ids.id();
    return untilDone(() =>
      safeTry(async function* () {
        const { all, etag } = yield* await read();
        const done = all.find((one) => one.call === call);
        if (done !== undefined) return ok({ record: done });
        const decision = decide(all);
        if ("stop" in decision) return ok(decision);
        const record = { ...decision.put, call, at: clock.now() };
        const isKnown = byId(all, record.id) !== undefined;
        const next = isKnown ? all.map((one) => (one.id === record.id ? record : one)) : [...all, record];
        return write(next, etag).map((written) => (written ? { record } : undefined));
      }),
    );
  };

  const all: Records["all"] = () => read().map((page) => page.all);

  return {
    all,
    get: (id) => all().map((found) => byId(found, id)),
    ageOf: (at) => millisOf(clock.now()) - millisOf(at),
    update,

    change: (id, to, condition, deletedAt) =>
      update((found) => {
        const record = byId(found, id);
        if (record === undefined || !condition(record)) return { stop: record };
        return { put: inState(record, to, deletedAt) };
      }).map((end) => ("record" in end ? { changed: true, record: end.record } : { changed: false, record: end.stop })),

    drop: (id) =>
      untilDone<boolean>(() =>
        read().andThen(({ all: found, etag }) => {
          if (byId(found, id) === undefined) return okAsync(true);
          const left = found.filter((one) => one.id !== id);
          return write(left, etag).map((written) => written || undefined);
        }),
      ).map(() => undefined),
  };
};
