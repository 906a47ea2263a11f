/** An account's volume records in the state bucket. Reads return the whole document; writes are conditional. */
import { type Instant, millisOf } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CallOptions, Clock, Ids } from "../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { recordsKey } from "./names.ts";
import { parseRecords, printRecords, type VolumeRecord } from "./record.ts";
import type { Answer, PutCondition, S3Api } from "./s3-calls.ts";

/** A hidden volume becomes visible again after this time, unless its caller ends the deletion first. */
const HIDDEN_MS = 60_000;

/** Concurrent calls for one account's volumes contend for one object. */
const TRIES = 40;
const PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1000;

/** The new state of a volume, or no change and this result. */
export type Decision<T> = { readonly put: Omit<VolumeRecord, "call" | "at"> } | { readonly stop: T };

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

/** Accounts are identified by their digests (`account-digest.ts`). */
export class Records {
  readonly #deps: RecordsDeps;

  constructor(deps: RecordsDeps) {
    this.#deps = deps;
  }

  async of(account: string, options: CallOptions): Answer<readonly VolumeRecord[]> {
    return (await this.#read(account, options)).map(({ all }) => all);
  }

  /** Undefined if the account has no volume with this id. */
  async get(account: string, id: string, options: CallOptions): Answer<VolumeRecord | undefined> {
    return (await this.of(account, options)).map((all) => all.find((one) => one.id === id));
  }

  /** In milliseconds. */
  ageOf(at: Instant): number {
    return millisOf(this.#deps.clock.now()) - millisOf(at);
  }

  /** Hidden for so long that it becomes visible again. */
  isForgotten({ state, at }: VolumeRecord): boolean {
    return state === "hidden" && this.ageOf(at) >= HIDDEN_MS;
  }

  /**
   * Adds or updates a volume as `decide` says. If the document changed meanwhile, reads it and calls `decide` again.
   * Returns the new record, or the value that `decide` stopped with. The call's id identifies a write whose response was
   * lost.
   */
  async change<T>(
    account: string,
    decide: (all: readonly VolumeRecord[]) => Decision<T>,
    options: CallOptions,
  ): Answer<{ readonly record: VolumeRecord } | { readonly stop: T }> {
    const call = this.#deps.ids.id();
    const attempt = async (): Answer<{ readonly record: VolumeRecord } | { readonly stop: T } | undefined> => {
      const page = await this.#read(account, options);
      if (page.isErr()) return err(page.error);
      const { all, etag } = page.value;
      const done = all.find((one) => one.call === call);
      if (done !== undefined) return ok({ record: done });
      const decision = decide(all);
      if ("stop" in decision) return ok(decision);
      const record = { ...decision.put, call, at: this.#deps.clock.now() };
      const next = all.some((one) => one.id === record.id)
        ? all.map((one) => (one.id === record.id ? record : one))
        : [...all, record];
      return (await this.#write(account, next, etag, options)).map((is) => (is ? { record } : undefined));
    };
    return this.#untilDone(attempt, options);
  }

  /** Forgets a volume whose bucket is gone. */
  async drop(account: string, id: string, options: CallOptions): Answer<void> {
    const attempt = async (): Answer<true | undefined> => {
      const page = await this.#read(account, options);
      if (page.isErr()) return err(page.error);
      const { all, etag } = page.value;
      const left = all.filter((one) => one.id !== id);
      if (left.length === all.length) return ok(true);
      return (await this.#write(account, left, etag, options)).map((is) => (is ? true : undefined));
    };
    return (await this.#untilDone(attempt, options)).map(() => undefined);
  }

  async #untilDone<T>(attempt: () => Answer<T | undefined>, { signal }: CallOptions): Answer<T> {
    const { clock, random = Math.random } = this.#deps;
    for (let tries = 0; tries < TRIES && signal?.aborted !== true; tries++) {
      const done = await attempt();
      if (done.isErr()) return err(done.error);
      if (done.value !== undefined) return ok(done.value);
      await clock.sleep(Math.min(PAUSE_MS * (tries + 1), LONGEST_PAUSE_MS) * random(), signal);
    }
    return err(unavailable("Too many calls about one account's volumes at once."));
  }

  async #read(account: string, options: CallOptions): Promise<Result<Page, Unavailable>> {
    const { api, bucket } = this.#deps;
    const found = await api.text(bucket, recordsKey(account), options);
    if (found.isErr()) return err(found.error);
    if (found.value === "not_found") return ok({ all: [], etag: undefined });
    const all = parseRecords(found.value.text);
    if (all !== undefined) return ok({ all, etag: found.value.etag });
    return err(
      unavailable(`'${recordsKey(account)}' in '${bucket}' cannot be read; a newer platform may have put it.`),
    );
  }

  /** False: another call changed the document meanwhile. */
  async #write(account: string, all: readonly VolumeRecord[], etag: string | undefined, options: CallOptions) {
    const { api, bucket } = this.#deps;
    const condition: PutCondition = etag === undefined ? { IfNoneMatch: "*" } : { IfMatch: etag };
    const put = await api.putText(bucket, recordsKey(account), printRecords(all), condition, options);
    return put.map((end) => end !== "changed");
  }
}
