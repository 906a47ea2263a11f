/** Runs work on volumes in the background. Only logs failures, because the next listing of volumes retries the work. */
import type { Logger } from "../../../core/ports/system.ts";
import type { ApiResult } from "../calls/expect-states.ts";
import type { VolumeRecord } from "./record.ts";

export interface Task {
  /** The volume's id, for logs. */
  readonly volume: string;
  readonly run: () => ApiResult<unknown>;
}

/** @param dueWork returns undefined if the volume needs no work */
export const dueTasks = <R extends VolumeRecord>(
  all: readonly R[],
  dueWork: (record: R) => Task["run"] | undefined,
): Task[] =>
  all.flatMap((record) => {
    const run = dueWork(record);
    return run === undefined ? [] : [{ volume: record.id, run }];
  });

export interface BackgroundWork {
  /** Runs the tasks one after another. Does nothing while earlier tasks of the key run. */
  start(key: string, tasks: readonly Task[]): void;
  /** Resolves when no work is left. */
  idle(): Promise<void>;
}

export const createBackgroundWork = (logger: Logger): BackgroundWork => {
  const running = new Map<string, Promise<void>>();

  const runAll = async (tasks: readonly Task[]): Promise<void> => {
    try {
      for (const { volume, run } of tasks)
        if ((await run()).isErr()) logger.warn("work on a volume failed; the next listing retries it", { volume });
    } catch (cause) {
      logger.error("bug in background work on volumes", { volumes: tasks.map(({ volume }) => volume), cause });
    }
  };

  return {
    start: (key, tasks) => {
      if (tasks.length > 0 && !running.has(key))
        running.set(
          key,
          runAll(tasks).finally(() => running.delete(key)),
        );
    },
    idle: async () => {
      await Promise.all(running.values());
    },
  };
};
