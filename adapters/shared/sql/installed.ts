/** Whether this installation can answer SQL: the engine and its parser are optional packages. */
import { type Feature, missing, offered } from "../../../core/domain/capabilities.ts";
import { isInstalled } from "../optional-package.ts";

const packages = ["@duckdb/node-api", "@polyglot-sql/sdk"] as const;

/** @param has tells whether a package is there; tests hand in another one */
export const sqlQueries = (has: (name: string) => boolean = isInstalled): Feature => {
  if (process.platform === "win32") return missing("SQL needs a shell with ulimit, which Windows lacks");
  const lacking = packages.filter((name) => !has(name));
  return lacking.length === 0
    ? offered("in a process of the account's own, by DuckDB")
    : missing(
        `${lacking.join(" and ")} ${lacking.length === 1 ? "is" : "are"} not installed: npm install ${lacking.join(" ")}`,
      );
};
