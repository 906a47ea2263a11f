/** What the end of a service means: the reason and the words of a failed deploy, or of a crash in the log. */
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import { formatMemory } from "../../../core/domain/deploy/resources.ts";
import type { Exit } from "../sandbox/runner.ts";

/** V8 ends the process itself when its heap is full, with a message and SIGABRT. */
const heapFull = (exit: Exit, tail: readonly string[]): boolean =>
  exit.signal === "SIGABRT" && tail.some((line) => line.includes("JavaScript heap out of memory"));

/** What runtimes say of memory that the kernel refused them, before they end themselves. */
const REFUSED =
  /ERR_MEMORY_ALLOCATION_FAILED|Array buffer allocation failed|^MemoryError\b|std::bad_alloc|out of memory|OutOfMemoryError|NoMemoryError|Cannot allocate memory/;

const wasRefused = ({ code, dataLimited }: Exit, tail: readonly string[]): boolean =>
  dataLimited === true && code !== 0 && tail.some((line) => REFUSED.test(line));

/** It needed more memory than its limit: it was ended for that, or ended itself. */
export const ranOutOfMemory = (exit: Exit, tail: readonly string[]): boolean =>
  exit.outOfMemory || heapFull(exit, tail) || wasRefused(exit, tail);

export const describeExit = (exit: Exit, memory: number, tail: readonly string[]): DeployFailure => {
  if (exit.failure !== undefined) return { ...exit.failure, logTail: tail };
  const rest = { logTail: tail, ...(exit.code === null ? {} : { exitCode: exit.code }) };
  if (ranOutOfMemory(exit, tail))
    return {
      ...rest,
      reason: "out_of_memory",
      message: `The service used more than its ${formatMemory(memory)} of memory and was ended; deploy with more memory.`,
    };
  if (exit.code === 0)
    return {
      ...rest,
      reason: "exited",
      message: "The service ended with exit code 0; it must keep running and listen on PORT.",
    };
  const how = exit.signal === null ? `with exit code ${exit.code}` : `by signal ${exit.signal}`;
  return { ...rest, reason: "crashed", message: `The service ended ${how}.` };
};
