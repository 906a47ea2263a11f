/**
 * A local platform for `portside run`: for one developer, with free ports, a fast shutdown, and only errors in the
 * server log.
 */
import { clearDataFolder } from "../../adapters/local/data-folder/clear-data-folder.ts";
import { createLocalProvider } from "../../adapters/local/index.ts";
import { type ControlPlane, createControlPlane } from "../../core/control-plane.ts";
import type { Principal } from "../../core/domain/accounts/account.ts";
import type { Logger } from "../../core/ports/system.ts";
import { createPino, loggerOf } from "./logger.ts";

/** Deletes all deployments, including those of an earlier run that was killed. */
const deleteDeployments = async (controlPlane: ControlPlane, principal: Principal, logger: Logger): Promise<void> => {
  const deployments = await controlPlane.listDeployments(principal);
  if (deployments.isErr()) return logger.error("could not delete the deployments", { cause: deployments.error });
  for (const { name } of deployments.value) {
    const deleted = await controlPlane.deleteDeployment(principal, { name });
    if (deleted.isErr()) logger.error("could not delete a deployment", { name, cause: deleted.error });
  }
};

export const buildRunPlatform = async (config: {
  readonly dataDir: string;
  readonly principal: Principal;
  readonly env: NodeJS.ProcessEnv;
  readonly servicePorts: Readonly<Record<string, number>>;
}) => {
  const { dataDir, principal, env, servicePorts } = config;
  const logger = loggerOf(createPino("error"));
  const local = await createLocalProvider(
    { dataDir, ingressPort: 0, servicePorts: { ...servicePorts }, drainSeconds: 1, graceSeconds: 3 },
    { logger, environment: env, keepsImages: false },
  );
  const controlPlane = createControlPlane(local.ports);
  return {
    controlPlane,
    /** Deletes the deployments, logs, images and other temporary data. Keeps the volumes and the state. */
    close: async () => {
      await controlPlane.close();
      await deleteDeployments(controlPlane, principal, logger);
      await local.close();
      await clearDataFolder(dataDir);
    },
  };
};
