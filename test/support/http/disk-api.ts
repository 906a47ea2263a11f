/** The HTTP API with the memory provider, and with uploads on disk, like a real server. */
import { readdir } from "node:fs/promises";
import { createMemoryProvider, type MemoryProvider } from "../../../adapters/memory/index.ts";
import { createDiskSpool } from "../../../adapters/shared/archives/disk-spool.ts";
import { randomIds } from "../../../adapters/shared/runtime/system.ts";
import type { Ports } from "../../../core/ports/provider.ts";
import type { SettingsInput } from "../../../core/use-cases/pipeline/context.ts";
import { folderWith } from "../archives/folders.ts";
import { serveApi, type TestApi } from "./api.ts";

export interface DiskApi extends TestApi {
  readonly memory: MemoryProvider;
  /** The files in the spool's folder. */
  spooled(): Promise<string[]>;
}

/** @param wrap decorates the ports */
export const serveOnDisk = async (
  settings: SettingsInput = {},
  wrap: (ports: Ports) => Ports = (ports) => ports,
): Promise<DiskApi> => {
  const memory = createMemoryProvider();
  const folder = folderWith();
  const provider = { ...memory.provider, spool: createDiskSpool(folder.path, randomIds) };
  const api = await serveApi(wrap({ ...memory.ports, provider }), settings);
  return {
    ...api,
    memory,
    spooled: () => readdir(folder.path),
    [Symbol.asyncDispose]: async () => {
      await api[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
};
