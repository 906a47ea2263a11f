/** A volume behind the real HTTP API, in memory or on a given storage, and the command line. */
import type { MemoryProvider } from "../../../adapters/memory/index.ts";
import type { Ports } from "../../../core/ports/provider.ts";
import { serveApi, serveMemory, type TestApi } from "../http/api.ts";
import { type CommandResult, portside, type RunOptions } from "./terminal.ts";

export interface VolumeCli<Api extends TestApi = TestApi> extends AsyncDisposable {
  readonly api: Api;
  readonly env: NodeJS.ProcessEnv;
  /** `portside volume …` */
  volume(args: readonly string[], options?: RunOptions): Promise<CommandResult>;
  /** An object's bytes through a new signed URL; undefined if it does not exist. */
  read(path: string): Promise<Buffer | undefined>;
  write(path: string, bytes: string | Uint8Array<ArrayBuffer>): Promise<void>;
  /** The paths of all objects. */
  paths(): Promise<string[]>;
}

/** Starts with a volume `data`. */
const volumeOver = async <Api extends TestApi>(api: Api, close?: () => Promise<void>): Promise<VolumeCli<Api>> => {
  const env = { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key() };
  await api.call("POST", "/v1/volume/create", { json: { name: "data" } });
  return {
    api,
    env,
    volume: (args, options = {}) => portside(["volume", ...args], { ...options, env: { ...env, ...options.env } }),
    read: async (path) => {
      const grant = await api.call("POST", "/v1/volume/download", { json: { volume: "data", path } });
      return grant.status === 404 ? undefined : Buffer.from(await (await fetch(grant.json.url)).arrayBuffer());
    },
    write: async (path, body) => {
      const grant = await api.call("POST", "/v1/volume/upload", { json: { volume: "data", object: path } });
      const { status } = await fetch(grant.json.url, { method: "PUT", body });
      if (status !== 201 && status !== 200) throw new Error(`the storage answered ${status}`);
    },
    paths: async () => {
      const { json } = await api.call("GET", "/v1/volume/objects?volume=data");
      return json.objects.map((one: { path: string }) => one.path);
    },
    [Symbol.asyncDispose]: async () => {
      await api[Symbol.asyncDispose]();
      await close?.();
    },
  };
};

export const serveVolume = async (
  ...config: Parameters<typeof serveMemory>
): Promise<VolumeCli<TestApi & { readonly memory: MemoryProvider }>> => {
  const api = await serveMemory(...config);
  return volumeOver(api, () => api.memory.close());
};

export const serveVolumeOver = async (ports: Ports): Promise<VolumeCli> => volumeOver(await serveApi(ports));
