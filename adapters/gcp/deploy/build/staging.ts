/** Stores build sources and reads build logs: https://cloud.google.com/storage/docs/json_api/v1/objects */
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Source } from "../../../../core/ports/source-spool.ts";
import { err, ok } from "../../../../core/result.ts";
import { isCallState, type ProviderCall } from "../../../cloud/calls/provider-call.ts";
import { spooledIn } from "../../../cloud/deploy/build/bucket-spool.ts";
import { onState } from "../../call-policy.ts";
import type { ClientSource } from "../../clients.ts";

const TIMEOUT_MS = 60_000;

const RANGE_NOT_SATISFIABLE = 416;

/** Rejects when the signal aborts, because the calls of the storage client accept no signal. */
const abortable = <T>(work: Promise<T>, signal: AbortSignal): Promise<T> => {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort);
  return Promise.race([work, promise]).finally(() => signal.removeEventListener("abort", abort));
};

export const createStaging = (bucket: string, clients: ClientSource, call: ProviderCall) => {
  const fileOf = async (name: string) => (await clients("storage")).bucket(bucket).file(name);

  // Creates the object only if it does not exist. A concurrent upload of the same source has the same bytes.
  const onlyNew = { preconditionOpts: { ifGenerationMatch: 0 } } as const;

  const send = (name: string, source: Source, signal: AbortSignal) =>
    call<void>({ what: "storage.objects.insert", timeoutMs: TIMEOUT_MS, signal }, async () => {
      const sink = (await fileOf(name)).createWriteStream({ ...onlyNew, resumable: false });
      await pipeline(Readable.from(source.open(), { objectMode: false }), sink, { signal });
    });

  /**
   * Copies within Cloud Storage, without a download: https://cloud.google.com/storage/docs/json_api/v1/objects/rewrite
   */
  const copy = (from: string, name: string, signal: AbortSignal) =>
    call<void>({ what: "storage.objects.rewrite", timeoutMs: TIMEOUT_MS, signal }, async () => {
      await abortable((await fileOf(from)).copy(await fileOf(name), onlyNew), signal);
    });

  return {
    /** Uploads a source, unless the object exists. */
    put: async (name: string, source: Source, signal: AbortSignal) => {
      const existing = await call({ what: "storage.objects.get", timeoutMs: TIMEOUT_MS, signal }, async () =>
        abortable((await fileOf(name)).getMetadata(), signal),
      );
      if (existing.isOk()) return ok(undefined);
      if (!isCallState(existing.error) || existing.error.code !== "not_found") return err(existing.error);
      const spooled = spooledIn(bucket, source);
      const put = spooled === undefined ? await send(name, source, signal) : await copy(spooled, name, signal);
      return put.orElse(onState("changed", undefined));
    },

    /** Returns an object's bytes from an offset. Returns no bytes if the object ends there or does not exist yet. */
    read: async (name: string, from: number, signal: AbortSignal) => {
      const read = await call({ what: "storage.objects.get", timeoutMs: TIMEOUT_MS, signal }, async () => {
        try {
          const [bytes] = await abortable((await fileOf(name)).download({ start: from, validation: false }), signal);
          return bytes;
        } catch (error) {
          if ((error as { code?: unknown }).code === RANGE_NOT_SATISFIABLE) return Buffer.alloc(0);
          throw error;
        }
      });
      return read.orElse(onState("not_found", Buffer.alloc(0)));
    },
  };
};
