/**
 * Limits the number of processes in a classic build. The classic builder has no option for this limit, and user limits
 * (nproc) do not apply to root. Therefore each build container gets the limit as soon as the container engine reports
 * that the container was created.
 * https://docs.docker.com/reference/api/engine/version/v1.41/#tag/Container/operation/ContainerUpdate
 */
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type Docker from "dockerode";

const limit = async (docker: Docker, id: string, network: string, processes: number): Promise<void> => {
  const container = docker.getContainer(id);
  const { HostConfig } = await container.inspect();
  // The other containers in the network run services and other builds, which have this limit from the start.
  if (HostConfig.NetworkMode === network && !HostConfig.PidsLimit) await container.update({ PidsLimit: processes });
};

/** @param network the network of the containers to limit; only containers of this server's scope use the network */
export const limitProcesses = async (docker: Docker, network: string, processes: number): Promise<Disposable> => {
  const asked = { filters: { type: ["container" as const], event: ["create"] } };
  const events = (await docker.getEvents(asked)) as unknown as Readable;
  // If the container engine stops, the build itself reports the failure.
  events.on("error", () => undefined);
  createInterface({ input: events }).on("line", (line) => {
    const { id } = JSON.parse(line) as { id: string };
    // The container may have ended already.
    limit(docker, id, network, processes).catch(() => undefined);
  });
  return { [Symbol.dispose]: () => events.destroy() };
};
