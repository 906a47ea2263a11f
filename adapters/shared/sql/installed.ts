/** Whether this installation can answer SQL: the engine and its parser are optional packages. */
import { type Feature, missing, offered } from "../../../core/domain/capabilities.ts";
import { isInstalled } from "../optional-package.ts";
import { packagedScript, scriptMissing } from "../packaged-script.ts";

const isBundled =
  packagedScript(import.meta.url, "adapters/shared/sql/installed", "adapters/shared/sql/pushed") === null;

/**
 * Why statements cannot be answered with these packages; undefined if they can.
 * @param has tells whether a package is there; tests hand in another one
 */
export const sqlProblem = (
  packages: readonly string[],
  has: (name: string) => boolean = isInstalled,
): string | undefined => {
  if (isBundled) return scriptMissing("SQL");
  const lacking = packages.filter((name) => !has(name));
  if (lacking.length === 0) return undefined;
  return `${lacking.join(" and ")} ${lacking.length === 1 ? "is" : "are"} not installed: npm install ${lacking.join(" ")}`;
};

/** @param has tells whether a package is there; tests hand in another one */
export const sqlQueries = (has?: (name: string) => boolean): Feature => {
  if (process.platform === "win32") return missing("SQL needs a shell with ulimit, which Windows lacks");
  const problem = sqlProblem(["@duckdb/node-api", "@polyglot-sql/sdk"], has);
  return problem === undefined ? offered("in a process of the account's own, by DuckDB") : missing(problem);
};
