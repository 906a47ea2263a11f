import { type LogPage, logPageSchema } from "../../../core/domain/logs/entry.ts";
import { logsFields } from "../../../core/domain/wire/requests.ts";
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
    summary: "Read the log of a deployment, oldest entries first.",
    description:
      "Pass the `cursor` of a response as the next `since` to receive every entry exactly once. New entries may " +
      "take some seconds to appear.",
    fields: logsFields,
    response: logPageSchema,
    run: (controlPlane, principal, request, options) => controlPlane.readLogs(principal, request, options),
    render: renderPage,
    headers: {
      "X-Logs-Partial": "`true` if the search ended early, at its time or size limit. Continue from the cursor.",
      "X-Poll-After":
        "The seconds, such as `2.4`, to wait before reading the next page. Earlier requests return no newer entries.",
    },
  }),
] as const;
