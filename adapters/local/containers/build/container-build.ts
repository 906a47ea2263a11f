/** The inputs of a build in a container engine. */
import type { Source } from "../../../../core/ports/source-spool.ts";
import type { BuildContext } from "../../builds/run-command.ts";

/**
 * Docker's classic builder enforces all `limits`, Podman enforces only the memory limit, and BuildKit enforces none.
 * The build's commands use the `network` settings. The container engine pulls base images with its own settings.
 */
export interface ContainerBuild extends Pick<BuildContext, "limits" | "network" | "say" | "print" | "signal"> {
  readonly source: Source;
  /** The account, encoded for the container engine's resource names. */
  readonly owner: string;
  /** The image's name in the container engine. */
  readonly tag: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The network for the classic builder's commands; undefined for the container engine's default network. */
  readonly networkName: string | undefined;
  /** Ports of this machine from which a base image may be pulled. */
  readonly allowedPorts: readonly number[];
  /** The home folder of the container engine's command line. */
  readonly home: string;
}

/** Matches arguments that need no ARG instruction: https://docs.docker.com/reference/dockerfile/#predefined-args */
const predefined = /^(?:https?|ftp|no|all)_proxy$/i;

export const predefinedArguments = (network: BuildContext["network"]): Record<string, string> =>
  Object.fromEntries(Object.entries(network).filter(([name]) => predefined.test(name)));
