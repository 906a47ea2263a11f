/**
 * The only import of neverthrow. Every expected failure in Portside is a value of these types.
 *
 * The library is small and has little activity, so replacing it must change only this file.
 *
 * The body of `safeTry` must not contain `finally` or `using`: after an error, neverthrow never resumes the generator.
 */
export { Err, err, errAsync, ok, okAsync, Result, ResultAsync, safeTry } from "neverthrow";
