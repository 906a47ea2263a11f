/**
 * Memory warnings for a deploy's stream: Cloud Run's minimum raised the memory, or the memory may be too little for
 * open files. Pure functions.
 */
import { GiB } from "../../../core/domain/accounts/limits.ts";
import { formatMemory } from "../../../core/domain/deploy/resources.ts";
import type { ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";
import { memoryOf } from "./render.ts";

/**
 * "Each file you open for streaming writes consumes about 64 MiB":
 * https://docs.cloud.google.com/run/docs/configuring/services/cloud-storage-volume-mounts
 */
const WRITE_BUFFER_MEMORY = GiB;

export const warningsOf = (template: ServiceTemplate): string[] => {
  const memory = memoryOf(template);
  const size = formatMemory(memory);
  const isWritten = template.mounts.some(({ readOnly }) => !readOnly);
  const raised = `Memory raised to ${size}, the minimum for a service with volumes on Cloud Run`;
  const lowMemory = `${size} of memory may be too little: each file open for writing on a volume uses about 64Mi`;
  return [
    ...(memory === template.memory ? [] : [raised]),
    ...(isWritten && memory < WRITE_BUFFER_MEMORY ? [lowMemory] : []),
  ];
};
