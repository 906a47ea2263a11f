/** Reports the status of running instances, with the resources that they use. */
import { setTimeout as sleep, setImmediate as yieldTurn } from "node:timers/promises";
import type { InstanceStatus } from "../../../core/domain/deploy/instance-status.ts";
import { instantOfMillis, timestampOf } from "../../../core/domain/wire/instant.ts";
import type { InstanceInState } from "../ingress/pool.ts";
import type { ResourceUse } from "../sandbox/runner.ts";

/** An instance of a revision with its state. */
export interface ReportedInstance extends InstanceInState {
  readonly revision: string;
}

/** The time over which the CPU use is measured, in milliseconds. The kernel counts CPU time in steps of 10 ms. */
const SAMPLE_MS = 250;

interface Sample {
  readonly use: ResourceUse | undefined;
  readonly at: number;
}

/** Reads the use of each instance. Lets requests run in between, because a read of /proc blocks this process. */
const sample = async (instances: readonly ReportedInstance[]): Promise<Sample[]> => {
  const samples: Sample[] = [];
  for (const { instance } of instances) {
    samples.push({ use: instance.use(), at: performance.now() });
    await yieldTurn();
  }
  return samples;
};

/** Returns the CPU use between two samples, in percent of one CPU. Pure. */
export const cpuPercentOf = (first: Sample, second: Sample): number | null => {
  const millis = second.at - first.at;
  if (first.use === undefined || second.use === undefined || millis <= 0) return null;
  // The second sample lacks the CPU time of processes that have ended.
  const used = Math.max(0, second.use.cpuMillis - first.use.cpuMillis);
  return Math.round((used / millis) * 1000) / 10;
};

/** Returns the status of each instance. Takes a quarter of a second to measure the CPU use. */
export const reportInstances = async (instances: readonly ReportedInstance[]): Promise<readonly InstanceStatus[]> => {
  if (instances.length === 0) return [];
  const before = await sample(instances);
  await sleep(SAMPLE_MS);
  const after = await sample(instances);
  return instances.map(({ instance, revision, state }, index) => ({
    id: instance.id,
    revision,
    state,
    startedAt: timestampOf(instantOfMillis(instance.startedAt)),
    memoryBytes: after[index]?.use?.memory ?? null,
    cpuPercent: cpuPercentOf(before[index] as Sample, after[index] as Sample),
  }));
};
