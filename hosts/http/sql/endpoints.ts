/** SQL over logs and billing. */

import { rowObjects, type SqlAnswer, sqlRowsSchema } from "../../../core/domain/sql/answer.ts";
import { sqlFields } from "../../../core/domain/wire/requests.ts";
import { type Endpoint, json, type Rendered } from "../endpoint.ts";

/** Headers are ASCII: https://www.rfc-editor.org/rfc/rfc9110#section-5.5 */
const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

const renderRows = (answer: unknown): Rendered => {
  const { columns } = answer as SqlAnswer;
  return { body: rowObjects(answer as SqlAnswer), headers: { "x-columns": asciiJson(columns) } };
};

export const sqlEndpoints: readonly Endpoint[] = [
  json({
    method: "POST",
    path: "/v1/sql",
    summary: "One SELECT over your logs and billing.",
    description:
      "GoogleSQL, reading only. The tables have the rows of your account and nothing else. The answer is an " +
      "array of rows, each an object by column name.",
    place: "body",
    fields: sqlFields,
    answer: sqlRowsSchema,
    run: (controlPlane, principal, request, options) => controlPlane.runSql(principal, request, options),
    render: renderRows,
    headers: { "X-Columns": "The columns as a JSON array of {name, type}, in the statement's order." },
  }),
];
