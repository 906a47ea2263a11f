/** Errors in the text of a filter, with their positions. */
import { err, type Result } from "../../../result.ts";

/** A syntax error in a filter. `describeProblem` formats it. */
export interface FilterProblem {
  /** Offset of the error in characters. */
  readonly at: number;
  readonly message: string;
}

export const problemAt = (at: number, message: string): Result<never, FilterProblem> => err({ at, message });

/** Formats a problem for clients. Positions are counted from 1. */
export const describeProblem = ({ at, message }: FilterProblem): string => `at position ${at + 1}: ${message}`;
