/** Computes a row's severity in GoogleSQL, by the rules of `logs/entry.ts`. */
import { severityCases } from "../../shared/sql/tables/severity.ts";
import { WRITTEN_LABEL } from "../logs/entry.ts";

const STDERR = "run.googleapis.com/stderr";
const lines = `'run.googleapis.com/stdout', '${STDERR}'`;

const jsonSeverity = "COALESCE(JSON_VALUE(json_payload, '$.severity'), JSON_VALUE(json_payload, '$.level'))";

/** An expression on the columns of the linked dataset. */
export const severityColumn = `CASE
  WHEN severity <> 'DEFAULT' OR log_id NOT IN (${lines}) OR JSON_VALUE(labels, '$."${WRITTEN_LABEL}"') IS NOT NULL
    THEN severity ${severityCases(jsonSeverity, `SAFE_CAST(${jsonSeverity} AS FLOAT64)`)}
  WHEN log_id = '${STDERR}' THEN 'ERROR' ELSE 'DEFAULT' END`;
