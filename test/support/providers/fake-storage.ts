/** A volume whose signed URLs point to a server of the test, which simulates other or faulty storage services. */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { serveVolume, type VolumeCli } from "../cli/volume-cli.ts";
import { atPort, serveRewriting } from "../http/rewriting-proxy.ts";

export interface FakeVolumeStorage extends AsyncDisposable {
  readonly cli: VolumeCli;
  /** The URL of the storage. */
  readonly url: string;
  /** Makes the command line use it. */
  readonly env: NodeJS.ProcessEnv;
}

export const serveFakeStorage = async (answer: RequestListener): Promise<FakeVolumeStorage> => {
  const cli = await serveVolume();
  const storage = createServer(answer).listen(0, "127.0.0.1");
  await once(storage, "listening");
  const { port } = storage.address() as { port: number };
  const front = await serveRewriting(cli.api.url, (path, { json, ...rest }) => {
    const grant = json as { url?: string };
    return { ...rest, json: /load$/.test(path) && grant.url ? { ...grant, url: atPort(grant.url, port) } : json };
  });
  return {
    cli,
    url: `http://127.0.0.1:${port}`,
    env: { PORTSIDE_URL: front.url },
    [Symbol.asyncDispose]: async () => {
      storage.closeAllConnections();
      storage.close();
      await front[Symbol.asyncDispose]();
      await cli[Symbol.asyncDispose]();
    },
  };
};
