/** The severity of a row in GoogleSQL: what `logging/entry.ts` makes of an entry, so that logs and SQL say the same. */
import { severityNames } from "../../../core/domain/log-entry.ts";
import { severityOf, severityWords } from "../../../core/domain/log-line.ts";
import { WRITTEN_LABEL } from "../logging/entry.ts";

const STDERR = "run.googleapis.com/stderr";
const lines = `'run.googleapis.com/stdout', '${STDERR}'`;

const said = "COALESCE(JSON_VALUE(json_payload, '$.severity'), JSON_VALUE(json_payload, '$.level'))";

const byWord = severityNames
  .map((name) => {
    const words = [...severityWords].filter(([, severity]) => severity === name).map(([word]) => `'${word}'`);
    return words.length === 0 ? "" : `WHEN LOWER(${said}) IN (${words.join(", ")}) THEN '${name}'`;
  })
  .join(" ");

/** pino's levels, the highest first; any number says something. */
const byNumber = [60, 50, 40, 30]
  .map((level) => `WHEN SAFE_CAST(${said} AS FLOAT64) >= ${level} THEN '${severityOf({ level })}'`)
  .join(" ");

/** Over the columns of the linked dataset. */
export const severityColumn = `CASE
  WHEN severity <> 'DEFAULT' OR log_id NOT IN (${lines}) OR JSON_VALUE(labels, '$."${WRITTEN_LABEL}"') IS NOT NULL
    THEN severity ${byWord} ${byNumber}
  WHEN SAFE_CAST(${said} AS FLOAT64) IS NOT NULL THEN '${severityOf({ level: 0 })}'
  WHEN log_id = '${STDERR}' THEN 'ERROR' ELSE 'DEFAULT' END`;
