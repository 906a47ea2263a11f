/** The containers, volumes and images of a service in Docker. */
import Dockerode from "dockerode";
import { groupsOf, isFrozen } from "../../../adapters/local/sandbox/freezer.ts";

const docker = new Dockerode();

export const containersOf = async (service: string): Promise<string[]> => {
  const filters = { label: [`portside.service=${service}`] };
  return (await docker.listContainers({ all: true, filters })).map(({ Id }) => Id);
};

export const isFrozenContainer = async (id: string): Promise<boolean> => {
  const { State } = await docker.getContainer(id).inspect();
  return State.Paused || isFrozen(groupsOf(State.Pid));
};

/** The names of the engine's volumes. */
export const volumesOf = async (): Promise<string[]> =>
  ((await docker.listVolumes()).Volumes ?? []).map(({ Name }) => Name).sort();

/** The number of processes and threads of a container. */
export const processesOf = async (id: string): Promise<number> =>
  (await docker.getContainer(id).stats({ stream: false })).pids_stats?.current ?? 0;

export const imagesOf = async (service: string): Promise<string[]> => {
  const built = await docker.listImages({ filters: { label: ["portside.image"] } });
  return built
    .filter(({ Labels }) => Labels?.["portside.image"]?.includes(`"service":${JSON.stringify(service)}`) === true)
    .map(({ Id }) => Id);
};

/** Removes the containers that a killed test run has left. */
export const sweepLabelled = async (label: string): Promise<void> => {
  for (const { Id } of await docker.listContainers({ all: true, filters: { label: [label] } }))
    await docker.getContainer(Id).remove({ force: true });
};

export const removeImagesOf = async (service: string): Promise<void> => {
  for (const id of await imagesOf(service)) await docker.getImage(id).remove({ force: true });
};
