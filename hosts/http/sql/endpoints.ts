/** SQL over logs and billing. */

import { rowObjects, type SqlResponse, sqlRowsSchema } from "../../../core/domain/sql/answer.ts";
import { sqlSchemaSchema } from "../../../core/domain/sql/tables.ts";
import { sqlFields } from "../../../core/domain/wire/requests.ts";
import { get, post, type Rendered } from "../endpoint.ts";

/** Headers are ASCII: https://www.rfc-editor.org/rfc/rfc9110#section-5.5 */
const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

const renderRows = (result: unknown): Rendered => {
  const { columns } = result as SqlResponse;
  return { body: rowObjects(result as SqlResponse), headers: { "x-columns": asciiJson(columns) } };
};

export const sqlEndpoints = [
  post("/v1/sql", {
    operation: "runSql",
    summary: "Run one SELECT over your logs and billing.",
    description:
      "The dialect is GoogleSQL, read-only. The tables contain only the rows of your account. Returns an array of " +
      "rows, each an object with the column names as keys.",
    fields: sqlFields,
    response: sqlRowsSchema,
    run: (controlPlane, principal, request, options) => controlPlane.runSql(principal, request, options),
    render: renderRows,
    headers: { "X-Columns": "The columns as a JSON array of {name, type}, in the order of the SELECT." },
  }),
  get("/v1/sql/schema", {
    operation: "getSqlSchema",
    summary: "List the tables that SQL queries can read, with their columns.",
    description: "The tables are the same for every account. An account sees only its own rows.",
    response: sqlSchemaSchema,
    run: (controlPlane, principal, _request, options) => controlPlane.getSqlSchema(principal, options),
  }),
] as const;
