/** What is wrong with a filter's text, and where. */
import { err, type Result } from "../../../result.ts";

export interface FilterProblem {
  /** Characters before the place that is wrong. */
  readonly at: number;
  readonly message: string;
}

export const problemAt = (at: number, message: string): Result<never, FilterProblem> => err({ at, message });

/** A problem as a client reads it: positions are counted from 1. */
export const describeProblem = ({ at, message }: FilterProblem): string => `at position ${at + 1}: ${message}`;
