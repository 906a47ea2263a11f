/**
 * Creates a network for a server's containers. The containers can reach the internet, but neither this machine's
 * loopback addresses nor the containers of other accounts.
 * https://docs.docker.com/engine/network/drivers/bridge/#options
 */
import { type ContainerEngine, statusOf } from "./engine.ts";

const NO_NEIGHBOURS = "com.docker.network.bridge.enable_icc";

const exists = 409;

/**
 * Podman can isolate only whole networks from each other. With Podman, each account therefore has a separate network.
 */
export const ensureNetwork = async (engine: ContainerEngine, name: string, scope: string): Promise<void> => {
  const isolated = engine.name === "Docker" ? { [NO_NEIGHBOURS]: "false" } : { isolate: "true" };
  const docker = await engine.docker();
  await docker
    .createNetwork({
      Name: name,
      Driver: "bridge",
      CheckDuplicate: true,
      Options: isolated,
      Labels: { [SCOPE]: scope },
    })
    .catch((error: unknown) => {
      if (statusOf(error) !== exists) throw error;
    });
};

/** The label with the scope of containers and networks. */
export const SCOPE = "portside.scope";
