/** Measures the bytes that a container has written to its own files and to the VOLUMEs of its image. */
import type Docker from "dockerode";
import type { Container, ContainerInspectInfo } from "dockerode";

/**
 * Returns the volumes that the container engine created for this container. The mounts of the service are binds, not
 * volumes.
 */
export const anonymousVolumes = ({ Mounts }: Pick<ContainerInspectInfo, "Mounts">): readonly string[] =>
  Mounts.flatMap(({ Type, Name }) => (Type === "volume" && Name !== undefined ? [Name] : []));

/** The container engine measures all volumes in one call, so concurrent measurements share the response. */
const measuring = new WeakMap<Docker, Promise<ReadonlyMap<string, number>>>();

const measure = async (docker: Docker): Promise<ReadonlyMap<string, number>> => {
  // With this option, which the package's types lack, newer container engines measure only volumes.
  const df = docker.df.bind(docker) as (asked: object) => Promise<unknown>;
  const { Volumes } = (await df({ type: "volume" })) as {
    Volumes?: readonly { readonly Name: string; readonly UsageData?: { readonly Size: number } | null }[] | null;
  };
  return new Map((Volumes ?? []).map(({ Name, UsageData }) => [Name, Math.max(0, UsageData?.Size ?? 0)]));
};

const volumeSizes = (docker: Docker): Promise<ReadonlyMap<string, number>> => {
  const asked = measuring.get(docker) ?? measure(docker).finally(() => measuring.delete(docker));
  measuring.set(docker, asked);
  return asked;
};

export const measureWrittenBytes = async (
  docker: Docker,
  container: Container,
  volumes: readonly string[],
): Promise<number> => {
  // The package's types lack this option.
  const asked: object = { size: true };
  const { SizeRw = 0 } = (await container.inspect(asked)) as { SizeRw?: number };
  const sizes = volumes.length === 0 ? new Map<string, number>() : await volumeSizes(docker);
  return volumes.reduce((sum, name) => sum + (sizes.get(name) ?? 0), SizeRw);
};
