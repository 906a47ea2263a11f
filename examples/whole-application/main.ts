/** `npm start`; PORTSIDE_PROVIDER=memory|local|gcp|aws */
import { SettingsError } from "portside/composition";
import { createApp } from "./app.ts";
import { createPlatform } from "./platform.ts";
import { createClock, createLogger } from "./system.ts";

try {
  const logger = createLogger((line) => console.log(JSON.stringify({ app: "dock", ...line })));
  const platform = await createPlatform(process.env, { clock: createClock(), logger });
  const app = await createApp({ controlPlane: platform.controlPlane, metrics: platform.metrics, logger });
  const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () =>
    logger.info("listening", { address: server.address() ?? "" }),
  );
  const stop = async (): Promise<void> => {
    server.close();
    await platform.close();
    process.exit(0);
  };
  process.once("SIGTERM", () => void stop());
  process.once("SIGINT", () => void stop());
} catch (error) {
  if (!(error instanceof SettingsError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
