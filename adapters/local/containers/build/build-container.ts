/** Builds a source with a Dockerfile in the container engine. */

import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { DeployFailure } from "../../../../core/domain/deploy/reason.ts";
import { BuildError } from "../../builds/run-command.ts";
import { type ContainerEngine, engineMessage, statusOf } from "../engine.ts";
import { checkDockerfile } from "./base-images.ts";
import { contextOf, readContext } from "./build-context.ts";
import { buildWithKit } from "./build-kit.ts";
import { buildKitNeed } from "./build-kit-need.ts";
import { type BuildItem, BuildOutput } from "./build-output.ts";
import { type ContainerBuild, predefinedArguments } from "./container-build.ts";
import { limitProcesses } from "./limit-processes.ts";

const PERIOD = 100_000;

const buildWithApi = async (
  engine: ContainerEngine,
  build: ContainerBuild,
  context: Readable,
): Promise<BuildOutput> => {
  const { tag, labels, limits, network, networkName, print, signal } = build;
  const output = new BuildOutput(print);
  const docker = await engine.docker();
  using _limited = networkName === undefined ? undefined : await limitProcesses(docker, networkName, limits.processes);
  const answer = await docker.buildImage(context as NodeJS.ReadableStream, {
    t: tag,
    labels: { ...labels },
    memory: limits.memory,
    memswap: limits.memory,
    cpuperiod: PERIOD,
    cpuquota: limits.cpu * PERIOD,
    buildargs: predefinedArguments(network),
    ...(networkName === undefined ? {} : { networkmode: networkName }),
    rm: true,
    forcerm: true,
    abortSignal: signal,
  });
  for await (const line of createInterface({ input: answer as Readable }))
    if (line.trim() !== "") await output.take(JSON.parse(line) as BuildItem);
  return output;
};

/**
 * Returns the failure for a build when the container engine does not respond. The server does not reuse an earlier
 * image, because only the container engine knows whether the image still exists.
 */
export const engineUnreachable = ({ name }: Pick<ContainerEngine, "name">): DeployFailure => ({
  reason: "provider_unavailable",
  message: `${name} does not respond. Deploy again when ${name} responds.`,
});

const lacksClassicBuilder = (error: unknown): boolean =>
  [404, 405, 410, 501].includes(statusOf(error) ?? 0) || /(?:classic|legacy) builder/i.test(engineMessage(error));

/**
 * Builds the image and returns its id. Rejects with `BuildError` if the build fails. Aborting `signal` stops the build
 * in the container engine.
 */
export const buildContainer = async (engine: ContainerEngine, build: ContainerBuild): Promise<string> => {
  const { source, tag, say, signal } = build;
  const { dockerfile = "", ignore } = await readContext(source, signal);
  const need = engine.name === "Docker" ? buildKitNeed(dockerfile) : undefined;
  say(`Building with the source's Dockerfile (${engine.name} ${engine.version})`);
  const withContext = async (work: (context: Readable) => Promise<BuildOutput>): Promise<BuildOutput> => {
    const context = contextOf(source, ignore, signal);
    try {
      return await work(context);
    } finally {
      // A build that ends early leaves the stream open.
      context.destroy();
    }
  };
  const check = (knowsPlatforms: boolean) =>
    checkDockerfile(engine, dockerfile, { platform: engine.platform, knowsPlatforms }, build.allowedPorts, signal);
  const withKit = async () => {
    await check(true);
    return withContext((context) => buildWithKit(engine, build, context, need));
  };
  const withApi = async () => {
    await check(engine.name !== "Docker");
    return withContext((context) => buildWithApi(engine, build, context)).catch((error: unknown) => {
      if (engine.name === "Docker" && lacksClassicBuilder(error)) return withKit();
      throw error;
    });
  };
  const output = await (need === undefined ? withApi : withKit)().catch((error: unknown) => {
    signal.throwIfAborted();
    if (error instanceof BuildError) throw error;
    const status = statusOf(error);
    throw new BuildError(
      status === undefined
        ? engineUnreachable(engine)
        : { reason: "build_failed", message: `${engine.name} could not build the image: ${engineMessage(error)}` },
    );
  });
  signal.throwIfAborted();
  const failure = output.end();
  if (failure !== undefined) throw new BuildError(failure);
  const docker = await engine.docker();
  return (await docker.getImage(tag).inspect()).Id;
};
