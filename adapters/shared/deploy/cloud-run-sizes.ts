/**
 * The instance sizes of Cloud Run, for the gcp provider. The memory provider simulates them, so that tests cover every
 * adjustment of a declared size.
 */
import { GiB, MiB } from "../../../core/domain/accounts/limits.ts";
import type { ResourceCatalogue } from "../../../core/domain/deploy/resources.ts";

/** "If you use less than 1 vCPU": one concurrent request, and the first generation, which cannot mount volumes. */
const small = { concurrency: 1, mounts: false } as const;

/**
 * https://docs.cloud.google.com/run/docs/configuring/services/cpu and .../memory-limits. Cloud Run offers fractions of a
 * CPU in steps of 0.001 from 0.08; Portside offers two of these fractions. Cloud Run does not offer 3, 5 or 7 CPUs.
 */
export const cloudRunSizes: ResourceCatalogue = [
  { cpu: 0.25, memory: { min: 128 * MiB, max: 512 * MiB, step: 1 }, ...small },
  { cpu: 0.5, memory: { min: 128 * MiB, max: GiB, step: 1 }, ...small },
  { cpu: 1, memory: { min: 128 * MiB, max: 4 * GiB, step: 1 } },
  { cpu: 2, memory: { min: 128 * MiB, max: 8 * GiB, step: 1 } },
  { cpu: 4, memory: { min: 2 * GiB, max: 16 * GiB, step: 1 } },
  { cpu: 6, memory: { min: 4 * GiB, max: 24 * GiB, step: 1 } },
  { cpu: 8, memory: { min: 4 * GiB, max: 32 * GiB, step: 1 } },
];
