/**
 * Builds with BuildKit through the `docker` command. A plain build request to the container engine's API uses the
 * classic builder: https://docs.docker.com/build/buildkit/
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { BuildError } from "../../builds/run-command.ts";
import type { ContainerEngine } from "../engine.ts";
import { BuildOutput } from "./build-output.ts";
import { type ContainerBuild, predefinedArguments } from "./container-build.ts";
import type { DockerfileLine } from "./validate-dockerfile.ts";

const MISSING = /buildx component is missing|unknown flag|unknown command/i;

const missing = (need: DockerfileLine | undefined): BuildError => {
  const [what, instead] =
    need === undefined
      ? ["This version of Docker builds only with BuildKit", ""]
      : [
          `Line ${need.line} of the Dockerfile (${need.text.slice(0, 100)}) needs BuildKit`,
          ", or rewrite the line without BuildKit features",
        ];
  return new BuildError({
    reason: "no_builder",
    message: `${what}, but the platform's machine lacks the docker command or its plugin docker-buildx. Install both${instead}.`,
  });
};

/**
 * Separates the cache mounts of accounts: https://docs.docker.com/build/building/variables/#pre-defined-build-arguments
 */
const CACHE_OWNER = "BUILDKIT_CACHE_MOUNT_NS";

const settings = (option: string, values: Readonly<Record<string, string>>): string[] =>
  Object.entries(values).flatMap(([name, value]) => [option, `${name}=${value}`]);

const argumentsOf = ({ tag, labels, owner, network }: ContainerBuild): string[] => [
  ...["build", "--progress", "plain", "--tag", tag],
  ...settings("--build-arg", { ...predefinedArguments(network), [CACHE_OWNER]: owner }),
  ...settings("--label", labels),
  "-",
];

/** @param need the line that requires BuildKit; undefined if the container engine has no other builder */
export const buildWithKit = async (
  { environment }: ContainerEngine,
  build: ContainerBuild,
  context: Readable,
  need: DockerfileLine | undefined,
): Promise<BuildOutput> => {
  let isMissing = false;
  const output = new BuildOutput(build.print);
  const child = spawn("docker", argumentsOf(build), {
    env: { HOME: build.home, DOCKER_BUILDKIT: "1", ...environment },
    stdio: ["pipe", "pipe", "pipe"],
    signal: build.signal,
  });
  const ended: Promise<(number | null)[]> = once(child, "exit").catch(() => [127]);
  let hasBegun = false;
  const read = async (stream: Readable) => {
    for await (const line of createInterface({ input: stream })) {
      // Lines before the first step are Docker's own. Later lines may be the output of any command.
      hasBegun ||= line.startsWith("#");
      isMissing ||= !hasBegun && MISSING.test(line);
      await output.take({ stream: `${line}\n` });
    }
  };
  const [[code]] = await Promise.all([
    ended,
    read(child.stdout),
    read(child.stderr),
    // Docker may exit before it has read the whole context.
    pipeline(context, child.stdin).catch(() => undefined),
  ]);
  build.signal.throwIfAborted();
  if (code === 127 || (code !== 0 && isMissing)) throw missing(need);
  if (code !== 0) await output.take({ errorDetail: { message: output.last } });
  return output;
};
