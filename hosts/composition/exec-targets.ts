/** Finds running instances on this machine that `portside shell` can enter. */
import {
  type ExecTarget,
  ExecTargetRefused,
  type ExecTargets,
  findExecTargets,
} from "../../adapters/local/containers/exec-targets.ts";
import { resolveSettings } from "./settings.ts";

/** @param flags the data folder, as for `serve` */
export const execTargetsOf = async (
  service: string,
  flags: { readonly dataDir: string | undefined },
  environment: NodeJS.ProcessEnv,
  isTerminal: boolean,
): Promise<ExecTargets> => {
  const { dataDir } = resolveSettings(flags, environment);
  return findExecTargets(service, { dataDir, environment, isTerminal });
};

export { type ExecTarget, ExecTargetRefused, type ExecTargets };
