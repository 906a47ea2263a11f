/** The HTTP API with the memory provider, whose builds wait for the test. */
import { createMemoryProvider } from "../../../adapters/memory/index.ts";
import { type HeldBuild, holdBuilds } from "../providers/held-build.ts";
import { serveApi, type TestApi } from "./api.ts";

export interface HeldApi extends AsyncDisposable {
  readonly api: TestApi;
  /** A key of `acme`. */
  readonly key: string;
  readonly held: HeldBuild;
}

export const serveHeld = async (config: Parameters<typeof createMemoryProvider>[0] = {}): Promise<HeldApi> => {
  const held = holdBuilds(createMemoryProvider(config).ports);
  const api = await serveApi(held.ports);
  return {
    api,
    key: await api.key(),
    held,
    [Symbol.asyncDispose]: async () => {
      held.release();
      await api[Symbol.asyncDispose]();
    },
  };
};
