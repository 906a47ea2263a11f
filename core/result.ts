/**
 * The one door to neverthrow: every expected failure in Portside is a value of these types.
 *
 * Kept to one file because the library is small and quiet; replacing it must touch nothing else.
 */
export { Err, err, errAsync, ok, okAsync, Result, ResultAsync } from "neverthrow";
