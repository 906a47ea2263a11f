/** An account's volume records in the state bucket. A read returns the whole document; writes are conditional. */
import { type Instant, millisOf } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CallOptions, Clock, Ids } from "../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { recordsKey } from "./names.ts";
import { parseRecords, printRecords, type VolumeRecord } from "./record.ts";
import type { ApiResult, PutCondition, S3Api } from "./s3-calls.ts";

/** Milliseconds after which a hidden volume reappears if its caller neither completes nor aborts the delete. */
const HIDDEN_MS = 60_000;

/** Limits the retries: concurrent calls for one account's volumes write the same object. */
const TRIES = 40;
const PAUSE_MS = 20;
const MAX_PAUSE_MS = 1000;

/** The decision of `change`: write a volume's new state, or stop with this result. */
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

/** Identifies accounts by their digests (`account-digest.ts`). */
export class Records {
  readonly #deps: RecordsDeps;

  constructor(deps: RecordsDeps) {
    this.#deps = deps;
  }

  async of(account: string, options: CallOptions): ApiResult<readonly VolumeRecord[]> {
    return (await this.#read(account, options)).map(({ all }) => all);
  }

  /** Undefined if the account has no volume with this id. */
  async get(account: string, id: string, options: CallOptions): ApiResult<VolumeRecord | undefined> {
    return (await this.of(account, options)).map((all) => all.find((one) => one.id === id));
  }

  /** Age in milliseconds. */
  ageOf(at: Instant): number {
    return millisOf(this.#deps.clock.now()) - millisOf(at);
  }

  /** True if the volume has been hidden for so long that it must reappear. */
  isForgotten({ state, at }: VolumeRecord): boolean {
    return state === "hidden" && this.ageOf(at) >= HIDDEN_MS;
  }

  /**
   * Writes the volume that `decide` returns. If the document has changed since the read, reads it and calls `decide`
   * again. Returns the new record, or the value with which `decide` stopped. If a response was lost, the call's id in
   * the record shows that the write was applied.
   */
  async change<T>(
    account: string,
    decide: (all: readonly VolumeRecord[]) => Decision<T>,
    options: CallOptions,
  ): ApiResult<{ readonly record: VolumeRecord } | { readonly stop: T }> {
    const call = this.#deps.ids.id();
    const attempt = async (): ApiResult<{ readonly record: VolumeRecord } | { readonly stop: T } | undefined> => {
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
      return (await this.#write(account, next, etag, options)).map((written) => (written ? { record } : undefined));
    };
    return this.#untilDone(attempt, options);
  }

  /** Removes the record of a volume whose bucket is deleted. */
  async drop(account: string, id: string, options: CallOptions): ApiResult<void> {
    const attempt = async (): ApiResult<true | undefined> => {
      const page = await this.#read(account, options);
      if (page.isErr()) return err(page.error);
      const { all, etag } = page.value;
      const left = all.filter((one) => one.id !== id);
      if (left.length === all.length) return ok(true);
      return (await this.#write(account, left, etag, options)).map((written) => (written ? true : undefined));
    };
    return (await this.#untilDone(attempt, options)).map(() => undefined);
  }

  async #untilDone<T>(attempt: () => ApiResult<T | undefined>, { signal }: CallOptions): ApiResult<T> {
    const { clock, random = Math.random } = this.#deps;
    for (let tries = 0; tries < TRIES && signal?.aborted !== true; tries++) {
      const done = await attempt();
      if (done.isErr()) return err(done.error);
      if (done.value !== undefined) return ok(done.value);
      await clock.sleep(Math.min(PAUSE_MS * (tries + 1), MAX_PAUSE_MS) * random(), signal);
    }
    return err(unavailable("Too many concurrent calls for the account's volumes. Try again."));
  }

  async #read(account: string, options: CallOptions): Promise<Result<Page, Unavailable>> {
    const { api, bucket } = this.#deps;
    const found = await api.text(bucket, recordsKey(account), options);
    if (found.isErr()) return err(found.error);
    if (found.value === "not_found") return ok({ all: [], etag: undefined });
    const all = parseRecords(found.value.text);
    if (all !== undefined) return ok({ all, etag: found.value.etag });
    return err(
      unavailable(
        `The object '${recordsKey(account)}' in '${bucket}' is not readable; a newer version of the platform may have written it.`,
      ),
    );
  }

  /** Returns false if another call has changed the document. */
  async #write(account: string, all: readonly VolumeRecord[], etag: string | undefined, options: CallOptions) {
    const { api, bucket } = this.#deps;
    const condition: PutCondition = etag === undefined ? { IfNoneMatch: "*" } : { IfMatch: etag };
    const put = await api.putText(bucket, recordsKey(account), printRecords(all), condition, options);
    return put.map((end) => end !== "changed");
  }
}
