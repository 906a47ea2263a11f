/** The process that runs one account's SQL: `node child.ts DATABASE LOG`. */
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { serveSql } from "../../shared/sql/process/serve.ts";
import { makeFolder } from "../data-folder/layout.ts";
import { readLogFile } from "./log-reader.ts";

// The umask determines the mode of the files that DuckDB creates.
process.umask(0o077);
const [database, log] = process.argv.slice(2) as [string, string];
const folder = dirname(database);
for (const path of [dirname(folder), folder]) makeFolder(path);
await serveSql({ database, openLog: () => (existsSync(log) ? readLogFile(log) : undefined) });
