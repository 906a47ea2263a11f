/** Inputs of a build at a container engine. */
import type { Source } from "../../../../core/ports/source-spool.ts";
import type { BuildContext } from "../../builds/run-command.ts";

/**
 * `limits` apply to the classic builder's commands. BuildKit supports none, Podman only the memory limit. `network` applies to
 * commands: for base images, the engine has its own settings.
 */
export interface ContainerBuild extends Pick<BuildContext, "limits" | "network" | "say" | "print" | "signal"> {
  readonly source: Source;
  /** The account, in the form used for names in the engine. */
  readonly owner: string;
  /** The image's name in the engine. */
  readonly tag: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The engine's network for the classic builder's commands; undefined means its default. */
  readonly networkName: string | undefined;
  /** Ports of this machine from which a base image may be pulled. */
  readonly allowedPorts: readonly number[];
  /** Home folder of the engine's command line. */
  readonly home: string;
}

/** Only arguments that need no ARG: https://docs.docker.com/reference/dockerfile/#predefined-args */
const predefined = /^(?:https?|ftp|no|all)_proxy$/i;

export const predefinedArguments = (network: BuildContext["network"]): Record<string, string> =>
  Object.fromEntries(Object.entries(network).filter(([name]) => predefined.test(name)));
