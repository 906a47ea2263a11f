/** Warnings for the deploy's event stream if Cloud Run deviates from a declaration. Pure. */
import { GiB } from "../../../core/domain/accounts/limits.ts";
import { formatMemory } from "../../../core/domain/deploy/resources.ts";
import type { ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";
import { memoryOf } from "./render.ts";

/** "Each file you open for streaming writes consumes about 64 MiB": .../services/cloud-storage-volume-mounts */
const LITTLE_MEMORY = GiB;

export const warningsOf = (template: ServiceTemplate): string[] => {
  const memory = memoryOf(template);
  const size = formatMemory(memory);
  const isWritten = template.mounts.some(({ readOnly }) => !readOnly);
  const raised = `The service gets ${size} of memory: Cloud Run mounts volumes in its second generation, which has no less`;
  const little = `${size} is little memory for a volume that is written: each file that is open for writing takes about 64Mi of it`;
  return [...(memory === template.memory ? [] : [raised]), ...(isWritten && memory < LITTLE_MEMORY ? [little] : [])];
};
