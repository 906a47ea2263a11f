/** Fargate's task sizes: https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-cpu-memory-error.html */
import { GiB, MiB } from "../../../core/domain/accounts/limits.ts";
import { fitResources, type ResourceCatalogue, type Resources } from "../../../core/domain/deploy/resources.ts";

/** Omits 32 CPUs, because their three memory sizes are not evenly spaced. */
export const fargateSizes: ResourceCatalogue = [
  { cpu: 0.25, memory: { min: 512 * MiB, max: GiB, step: 512 * MiB } },
  { cpu: 0.25, memory: { min: 2 * GiB, max: 2 * GiB, step: GiB } },
  { cpu: 0.5, memory: { min: GiB, max: 4 * GiB, step: GiB } },
  { cpu: 1, memory: { min: 2 * GiB, max: 8 * GiB, step: GiB } },
  { cpu: 2, memory: { min: 4 * GiB, max: 16 * GiB, step: GiB } },
  { cpu: 4, memory: { min: 8 * GiB, max: 30 * GiB, step: GiB } },
  { cpu: 8, memory: { min: 16 * GiB, max: 60 * GiB, step: 4 * GiB } },
  { cpu: 16, memory: { min: 32 * GiB, max: 120 * GiB, step: 8 * GiB } },
];

/** Converts resources to ECS units: 1024 CPU units per CPU, and MiB. */
export const taskSizeOf = (wanted: Resources): { readonly cpu: string; readonly memory: string } => {
  const { cpu, memory } = fitResources(wanted, fargateSizes) ?? wanted;
  return { cpu: String(cpu * 1024), memory: String(Math.ceil(memory / MiB)) };
};
