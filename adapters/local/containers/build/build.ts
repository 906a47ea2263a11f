/** Builds a source that has a Dockerfile, at the container engine. */

import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { DeployFailure } from "../../../../core/domain/deploy/reason.ts";
import { BuildFailed } from "../../builds/steps.ts";
import { type ContainerEngine, engineMessage, statusOf } from "../engine.ts";
import { type ContainerBuild, predefinedArguments } from "./arguments.ts";
import { checkDockerfile } from "./base-images.ts";
import { buildWithKit } from "./build-kit.ts";
import { contextOf, readContext } from "./context.ts";
import { buildKitNeed } from "./dockerfile.ts";
import { limitProcesses } from "./limit-processes.ts";
import { type BuildItem, BuildOutput } from "./output.ts";

const PERIOD = 100_000;

const throughApi = async (
  { docker }: ContainerEngine,
  build: ContainerBuild,
  context: Readable,
): Promise<BuildOutput> => {
  const { tag, labels, limits, network, within, print, signal } = build;
  const output = new BuildOutput(print);
  using _limited = within === undefined ? undefined : await limitProcesses({ docker }, within, limits.processes);
  const answer = await docker.buildImage(context as NodeJS.ReadableStream, {
    t: tag,
    labels: { ...labels },
    memory: limits.memory,
    memswap: limits.memory,
    cpuperiod: PERIOD,
    cpuquota: limits.cpu * PERIOD,
    buildargs: { ...predefinedArguments(network) },
    ...(within === undefined ? {} : { networkmode: within }),
    rm: true,
    forcerm: true,
    abortSignal: signal,
  });
  for await (const line of createInterface({ input: answer as Readable }))
    if (line.trim() !== "") await output.take(JSON.parse(line) as BuildItem);
  return output;
};

/** An engine that does not respond is no proof that an earlier image is gone, so the build fails instead. */
export const engineUnreachable = ({ name }: Pick<ContainerEngine, "name">): DeployFailure => ({
  reason: "provider_unavailable",
  message: `${name} does not answer; deploy again when it does.`,
});

const isWithoutClassic = (error: unknown): boolean =>
  [404, 405, 410, 501].includes(statusOf(error) ?? 0) || /(?:classic|legacy) builder/i.test(engineMessage(error));

/** Throws `BuildFailed` if the build fails. The engine stops it when `signal` aborts. */
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
      // A build that ends early leaves it open.
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
    return withContext((context) => throughApi(engine, build, context)).catch((error: unknown) => {
      if (engine.name === "Docker" && isWithoutClassic(error)) return withKit();
      throw error;
    });
  };
  const output = await (need === undefined ? withApi : withKit)().catch((error: unknown) => {
    signal.throwIfAborted();
    if (error instanceof BuildFailed) throw error;
    const status = statusOf(error);
    throw new BuildFailed(
      status === undefined
        ? engineUnreachable(engine)
        : { reason: "build_failed", message: `${engine.name} does not take the Dockerfile: ${engineMessage(error)}` },
    );
  });
  signal.throwIfAborted();
  const failure = output.end();
  if (failure !== undefined) throw new BuildFailed(failure);
  return (await engine.docker.getImage(tag).inspect()).Id;
};
