/** A source spool in the staging bucket: https://cloud.google.com/storage/docs/json_api/v1/objects */

import type { ProviderCall } from "../../../cloud/calls/provider-call.ts";
import type { SpoolBucket } from "../../../cloud/deploy/build/bucket-spool.ts";
import { onState, withTimeout } from "../../call-policy.ts";
import type { ClientSource } from "../../clients.ts";
import { resumableUpload } from "./resumable.ts";

const TIMEOUT_MS = 60_000;
const REMOVE_TIMEOUT_MS = 10_000;

export const gcsSpool = (bucket: string, clients: ClientSource, call: ProviderCall): SpoolBucket => {
  const storage = () => clients("storage");
  const fileOf = async (name: string) => (await storage()).bucket(bucket).file(name);
  return {
    bucket,
    upload: (name, signal) => resumableUpload(storage, bucket, name, call, signal),
    read: (name, from, bytes) =>
      call({ what: "storage.objects.get", timeoutMs: TIMEOUT_MS }, async () => {
        const file = await fileOf(name);
        const [content] = await withTimeout(file.download({ start: from, end: from + bytes - 1, validation: false }));
        return content;
      }),
    remove: async (name) => {
      const removed = await call<void>({ what: "storage.objects.delete", timeoutMs: REMOVE_TIMEOUT_MS }, async () => {
        await withTimeout((await fileOf(name)).delete());
      });
      return removed.orElse(onState("not_found", undefined));
    },
  };
};
