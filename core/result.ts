/**
 * The result types with which Portside reports expected failures. No other file imports neverthrow.
 *
 * neverthrow is a small package with little recent activity. If it must be replaced, only this file changes.
 *
 * The body of `safeTry` must not contain `finally` or `using`, because neverthrow never resumes the generator after an
 * error.
 */
export { Err, err, errAsync, ok, okAsync, Result, ResultAsync, safeTry } from "neverthrow";
