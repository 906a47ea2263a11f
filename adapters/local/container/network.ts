/**
 * The network of a server's containers: they reach the world, and neither each other nor what this machine keeps to its
 * loopback. https://docs.docker.com/engine/network/drivers/bridge/#options
 */
import { type ContainerEngine, statusOf } from "./engine.ts";

const NO_NEIGHBOURS = "com.docker.network.bridge.enable_icc";

const exists = 409;

/** Podman's networks know isolation from other networks only: there each account gets one. */
export const ensureNetwork = async (engine: ContainerEngine, name: string, scope: string): Promise<void> => {
  const isolated = engine.name === "Docker" ? { [NO_NEIGHBOURS]: "false" } : { isolate: "true" };
  await engine.docker
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

/** The label of everything that a server has made at the engine. */
export const SCOPE = "portside.scope";
