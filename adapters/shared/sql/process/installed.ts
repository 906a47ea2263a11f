/** Checks whether this installation supports SQL. DuckDB and its parser are optional packages. */
import { type Feature, missing, offered } from "../../../../core/domain/wire/capabilities.ts";
import { type FindPackage, packagesProblem } from "../../runtime/optional-package.ts";
import { packagedScript, scriptMissing } from "../../runtime/packaged-script.ts";

const isBundled =
  packagedScript(
    import.meta.url,
    "adapters/shared/sql/process/installed",
    "adapters/shared/sql/process/memory-child",
  ) === null;

/**
 * Returns why these packages cannot run statements, or undefined if they can.
 *
 * @param find finds an installed package; tests pass their own
 */
export const sqlProblem = (packages: readonly string[], find?: FindPackage): string | undefined => {
  if (isBundled) return scriptMissing("SQL");
  const problem = packagesProblem(packages, find);
  return problem === undefined ? undefined : `${problem.words}: ${problem.fix}`;
};

export const sqlPackages = ["@duckdb/node-api", "@polyglot-sql/sdk"] as const;

/** @param find finds an installed package; tests pass their own */
export const sqlQueries = (find?: FindPackage): Feature => {
  if (process.platform === "win32") return missing("SQL needs a shell with ulimit, which Windows lacks");
  const problem = sqlProblem(sqlPackages, find);
  return problem === undefined ? offered("by DuckDB, in a separate process for each account") : missing(problem);
};
