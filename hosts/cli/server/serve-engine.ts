/** `portside serve` with the local provider: this process runs the engine, and a child runs the server. */
import { startLocalEngine } from "../../composition/local-engine.ts";
import { createPino } from "../../composition/logger.ts";
import type { ServeSettings } from "../../composition/settings.ts";
import { cannotStart } from "../terminal/io.ts";
import { ApiPort } from "./api-port.ts";
import { urlOf } from "./listen-for-api.ts";
import type { Serving } from "./serving.ts";
import { SupervisedServer } from "./supervised-server.ts";

/** Throws a `CommandError` if the settings cannot be applied. */
export const startEngineAndServer = async (settings: ServeSettings, script: URL): Promise<Serving> => {
  const log = createPino(settings.logLevel);
  await using stack = new AsyncDisposableStack();
  const engine = stack.use(await startLocalEngine(settings, log).catch(cannotStart));
  const api = new ApiPort();
  stack.defer(() => api.close());
  const port = await api.open(settings, engine.apiPort ?? 0);
  const server = new SupervisedServer(script, { settings, engineSocket: engine.socket, port }, log);
  stack.defer(() => server.stop());
  const facts = await server.start();
  api.passTo((socket, onLost) => server.pass(socket, onLost));
  const teardown = stack.move();
  return {
    ...facts,
    url: urlOf(settings.host, port),
    ingress: urlOf(settings.host, engine.ingressPort),
    stop: () => teardown.disposeAsync(),
  };
};
