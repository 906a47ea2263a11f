import { type LogPage, logPageSchema } from "../../../core/domain/logs/entry.ts";
import { logsFields } from "../../../core/domain/wire/requests.ts";
import { type Endpoint, json, type Rendered } from "../endpoint.ts";

const renderPage = (answer: unknown): Rendered => {
  const { partial, ...body } = answer as LogPage;
  return { body, headers: partial ? { "x-logs-partial": "true" } : {} };
};

export const logEndpoints: readonly Endpoint[] = [
  json({
    method: "POST",
    path: "/v1/deployment/logs",
    summary: "Entries of a deployment's log, oldest first.",
    description:
      "Pass the `cursor` of an answer as the next `since` to read on without gaps and repetitions. New " +
      "entries may take some seconds to appear.",
    place: "body",
    fields: logsFields,
    answer: logPageSchema,
    run: (controlPlane, principal, request, options) => controlPlane.readLogs(principal, request, options),
    render: renderPage,
    headers: { "X-Logs-Partial": "`true` where the search ended at its time limit; the cursor leads on from there." },
  }),
];
