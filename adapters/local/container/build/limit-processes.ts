/**
 * A limit of processes for the commands of the classic builder. A build has no such option, and user limits (nproc) do not
 * hold for root: each container of a build gets the limit as soon as the engine says that it was created.
 * https://docs.docker.com/reference/api/engine/version/v1.41/#tag/Container/operation/ContainerUpdate
 */
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { ContainerEngine } from "../engine.ts";

type Docker = ContainerEngine["docker"];

const limit = async (docker: Docker, id: string, network: string, processes: number): Promise<void> => {
  const container = docker.getContainer(id);
  const { HostConfig } = await container.inspect();
  // Services on the network have their limits since they were created; no other container is on it.
  if (HostConfig.NetworkMode === network && !HostConfig.PidsLimit) await container.update({ PidsLimit: processes });
};

/** @param network of the containers that are limited; nobody else has containers on it */
export const limitProcesses = async (
  { docker }: Pick<ContainerEngine, "docker">,
  network: string,
  processes: number,
): Promise<Disposable> => {
  const asked = { filters: { type: ["container" as const], event: ["create"] } };
  const events = (await docker.getEvents(asked)) as unknown as Readable;
  // An engine that ends, ends the build as well.
  events.on("error", () => undefined);
  createInterface({ input: events }).on("line", (line) => {
    const { id } = JSON.parse(line) as { id: string };
    // The container may have ended.
    limit(docker, id, network, processes).catch(() => undefined);
  });
  return { [Symbol.dispose]: () => events.destroy() };
};
