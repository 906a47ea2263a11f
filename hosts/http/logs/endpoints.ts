import { type LogPage, logPageSchema } from "../../../core/domain/logs/entry.ts";
import { logValuesSchema } from "../../../core/domain/logs/field-values.ts";
import { logHistogramSchema } from "../../../core/domain/logs/histogram.ts";
import { logHistogramFields, logsFields, logValuesFields } from "../../../core/domain/wire/requests.ts";
import { post, type Rendered } from "../endpoint.ts";

/** Rounds up, so that a client that waits this long does not read too early. */
const seconds = (millis: number): string => String(Math.ceil(millis / 100) / 10);

const renderPage = (result: unknown): Rendered => {
  const { partial, pollAfterMs, ...body } = result as LogPage;
  const headers = {
    ...(partial ? { "x-logs-partial": "true" } : {}),
    ...(pollAfterMs === undefined ? {} : { "x-poll-after": seconds(pollAfterMs) }),
  };
  return { body, headers };
};

export const logEndpoints = [
  post("/v1/deployment/logs", {
    operation: "readLogs",
    summary: "Read the log of a deployment.",
    description:
      "Pass the `cursor` of a response as the next `since` to receive every entry exactly once. In descending order, " +
      "pass it as the next `until`. Without `since`, a page has the newest entries, unless `query` has a lower bound " +
      "for the time. With `wait`, the platform waits up to that many seconds for a matching entry. New entries may " +
      "take a few seconds to appear.",
    fields: logsFields,
    response: logPageSchema,
    run: (controlPlane, principal, request, options) => controlPlane.readLogs(principal, request, options),
    render: renderPage,
    headers: {
      "X-Logs-Partial": "`true` if the search ended early, at its time or size limit. Continue from the cursor.",
      "X-Poll-After":
        "Seconds to wait before reading the next page, such as `2.4`. The reason is the read quota of a cloud, or " +
        "too many requests of your account that wait for an entry.",
    },
  }),
  post("/v1/logs/histogram", {
    operation: "getLogHistogram",
    summary: "Count the entries of a deployment's log over time, by severity.",
    description:
      "Without `since`, the range is one hour. The search counts the newest entries first. If it reaches its time " +
      "limit, `partial` is true, and the buckets before `complete_since` may lack entries.",
    fields: logHistogramFields,
    response: logHistogramSchema,
    run: (controlPlane, principal, request, options) => controlPlane.getLogHistogram(principal, request, options),
  }),
  post("/v1/logs/values", {
    operation: "listLogValues",
    summary: "List the fields of a deployment's log entries, with their most frequent values.",
    description:
      "Use it for completion in a filter editor. Examines at most the newest 10,000 matching entries. Fields that " +
      "differ in almost every entry, such as `timestamp` and `textPayload`, have no values.",
    fields: logValuesFields,
    response: logValuesSchema,
    run: (controlPlane, principal, request, options) => controlPlane.listLogValues(principal, request, options),
  }),
] as const;
