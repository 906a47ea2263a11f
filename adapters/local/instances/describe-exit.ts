/** Maps a service's exit to a reason and a message, for a failed deploy or a log entry about a crash. */
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import { formatMemory } from "../../../core/domain/deploy/resources.ts";
import type { Exit } from "../sandbox/runner.ts";

/** When its heap is full, V8 prints a message and aborts the process with SIGABRT. */
const heapFull = (exit: Exit, tail: readonly string[]): boolean =>
  exit.signal === "SIGABRT" && tail.some((line) => line.includes("JavaScript heap out of memory"));

/** Messages that language runtimes print when an allocation fails. */
const REFUSED =
  /ERR_MEMORY_ALLOCATION_FAILED|Array buffer allocation failed|^MemoryError\b|std::bad_alloc|out of memory|OutOfMemoryError|NoMemoryError|Cannot allocate memory/;

const wasRefused = ({ code, dataLimited }: Exit, tail: readonly string[]): boolean =>
  dataLimited === true && code !== 0 && tail.some((line) => REFUSED.test(line));

/** True if the platform or the service's runtime ended the service because it exceeded its memory limit. */
export const ranOutOfMemory = (exit: Exit, tail: readonly string[]): boolean =>
  exit.outOfMemory || heapFull(exit, tail) || wasRefused(exit, tail);

export const describeExit = (exit: Exit, memory: number, tail: readonly string[]): DeployFailure => {
  if (exit.failure !== undefined) return { ...exit.failure, logTail: tail };
  const rest = { logTail: tail, ...(exit.code === null ? {} : { exitCode: exit.code }) };
  if (ranOutOfMemory(exit, tail))
    return {
      ...rest,
      reason: "out_of_memory",
      message: `The service exceeded its memory limit of ${formatMemory(memory)} and ended. Deploy it with more memory.`,
    };
  if (exit.code === 0)
    return {
      ...rest,
      reason: "exited",
      message: "The service ended with exit code 0. It must keep running and listen on PORT.",
    };
  const how = exit.signal === null ? `ended with exit code ${exit.code}` : `was terminated by signal ${exit.signal}`;
  return { ...rest, reason: "crashed", message: `The service ${how}.` };
};
