/** The status of an instance of a service. */
import { z } from "zod";
import type { Timestamp } from "../wire/instant.ts";

/**
 * `starting`: the instance receives no requests yet. `ready`: it receives requests. `frozen`: it is paused until the
 * next request. `draining`: it finishes its requests, and then stops. `unhealthy`: it failed its health check, and is
 * being replaced.
 */
export const instanceStates = ["starting", "ready", "frozen", "draining", "unhealthy"] as const;

export type InstanceState = (typeof instanceStates)[number];

/** An instance as its platform reports it. */
export interface InstanceStatus {
  readonly id: string;
  readonly revision: string;
  readonly state: InstanceState;
  readonly startedAt: Timestamp;
  /** Null if the platform cannot measure it. */
  readonly memoryBytes: number | null;
  /** Current CPU usage, as a percentage of one CPU. Null if the platform cannot measure it. */
  readonly cpuPercent: number | null;
}

/** The schema of an instance in `GET /v1/deployment/get`. */
export const instanceSchema = z
  .object({
    id: z.string(),
    revision: z.string().meta({ description: "The revision that the instance runs." }),
    state: z.enum(instanceStates).meta({
      description:
        "starting: it receives no requests yet. ready: it receives requests. frozen: it is paused until the next " +
        "request. draining: it finishes its requests, and then stops. unhealthy: it failed its health check, and is " +
        "being replaced.",
    }),
    started_at: z.string().meta({ format: "date-time" }),
    memory_bytes: z.int().nullable().meta({ description: "Null if the platform cannot measure it." }),
    cpu_percent: z.number().nullable().meta({
      description: "Current CPU usage, as a percentage of one CPU; null if the platform cannot measure it.",
    }),
  })
  .readonly();

/** Converts an instance to its client view. */
export const instanceRowOf = (instance: InstanceStatus): z.output<typeof instanceSchema> => ({
  id: instance.id,
  revision: instance.revision,
  state: instance.state,
  started_at: instance.startedAt,
  memory_bytes: instance.memoryBytes,
  cpu_percent: instance.cpuPercent,
});
