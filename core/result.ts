/**
 * The only import of neverthrow. Every expected failure in Portside is a value of these types.
 *
 * The library is small and has little activity, so replacing it must change only this file.
 */
export { Err, err, errAsync, ok, okAsync, Result, ResultAsync } from "neverthrow";
