/** What a build at a container engine is given. */
import type { Source } from "../../../../core/ports/source-spool.ts";
import type { Say } from "../../../shared/channel.ts";
import type { Limits } from "../../runner/runner.ts";

export interface ContainerBuild {
  readonly source: Source;
  /** The account, as names at the engine have it. */
  readonly owner: string;
  /** What it is called at the engine. */
  readonly tag: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Of the classic builder's commands; BuildKit has none, and Podman that of memory alone. */
  readonly limits: Limits;
  /** The network's settings; the engine has its own for base images, this is for commands. */
  readonly network: Readonly<Record<string, string>>;
  /** The engine's network in which the classic builder's commands run; undefined: its default. */
  readonly within: string | undefined;
  /** Ports of this machine at which a base image may come from a registry. */
  readonly allowedPorts: readonly number[];
  /** A folder for what the engine's command line keeps. */
  readonly home: string;
  /** The builder's own words. */
  readonly say: (message: string) => void;
  /** The engine's output. */
  readonly print: Say<string>;
  readonly signal: AbortSignal;
}

/** Only what is known for a build's arguments without an ARG: https://docs.docker.com/reference/dockerfile/#predefined-args */
const predefined = /^(?:https?|ftp|no|all)_proxy$/i;

export const predefinedArguments = (network: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(network).filter(([name]) => predefined.test(name)));
