/** The storage endpoint on a volume in memory with a manual clock, and signed URLs. */
import { createManualClock, createMemoryProvider, type ManualClock } from "../../../adapters/memory/index.ts";
import { type AccountId, parseAccount } from "../../../core/domain/accounts/account.ts";
import type { ObjectPath } from "../../../core/domain/volumes/object-path.ts";
import { plusMillis } from "../../../core/domain/wire/instant.ts";
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import type { StoredVolume } from "../../../core/ports/volume-store.ts";

const MINUTE = 60_000;

export interface StorageServer extends AsyncDisposable {
  readonly clock: ManualClock;
  readonly volume: StoredVolume;
  /** Another volume of the account. */
  readonly other: StoredVolume;
  /** URLs that are valid for a minute. */
  upload(path: string, volume?: StoredVolume): Promise<string>;
  download(path: string, volume?: StoredVolume): Promise<string>;
  put(path: string, body: string, volume?: StoredVolume): Promise<void>;
  text(path: string): Promise<string>;
}

export const startStorage = async (): Promise<StorageServer> => {
  const clock = createManualClock();
  const memory = createMemoryProvider({ clock });
  const { volumes } = memory.provider;
  const account = parseAccount("acme") as AccountId;
  const made = async (name: string) => (await volumes.create(account, name as VolumeName))._unsafeUnwrap().volume;
  const [volume, other] = [await made("data"), await made("other")];
  const until = () => plusMillis(clock.now(), MINUTE);
  const upload = async (path: string, where = volume) =>
    (await volumes.grantUpload(where, path as ObjectPath, until()))._unsafeUnwrap().url;
  const download = async (path: string, where = volume) =>
    (await volumes.grantDownload(where, path as ObjectPath, until()))._unsafeUnwrap().url;
  return {
    clock,
    volume,
    other,
    upload,
    download,
    put: async (path, body, where) => {
      const { ok, status } = await fetch(await upload(path, where), { method: "PUT", body });
      if (!ok) throw new Error(`PUT of '${path}' returned status ${status}`);
    },
    text: async (path) => (await fetch(await download(path))).text(),
    [Symbol.asyncDispose]: () => memory.close(),
  };
};
