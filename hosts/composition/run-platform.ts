/** The local engine for one folder and one developer: quiet, on any free ports, gone quickly. */
import { createLocalProvider } from "../../adapters/local/index.ts";
import { type ControlPlane, createControlPlane } from "../../core/control-plane.ts";
import { createPino, loggerOf } from "./logger.ts";

export interface RunPlatform {
  readonly controlPlane: ControlPlane;
  close(): Promise<void>;
}

export const buildRunPlatform = async (config: {
  readonly dataDir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly servicePorts: Readonly<Record<string, number>>;
}): Promise<RunPlatform> => {
  const { dataDir, env, servicePorts } = config;
  const local = await createLocalProvider(
    { dataDir, ingressPort: 0, servicePorts: { ...servicePorts }, drainSeconds: 1, graceSeconds: 3 },
    { logger: loggerOf(createPino("error")), environment: env, keepsImages: false },
  );
  const controlPlane = createControlPlane(local.ports);
  return {
    controlPlane,
    close: async () => {
      await controlPlane.close();
      await local.close();
    },
  };
};
