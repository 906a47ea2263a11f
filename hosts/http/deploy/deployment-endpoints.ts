/** Deployments: their names, the list, removal, logs. */
import { z } from "zod";
import { deploymentSchema } from "../../../core/domain/deploy/deployment.ts";
import { type LogPage, logPageSchema } from "../../../core/domain/logs/entry.ts";
import { checkNameFields, deleteFields, logsFields } from "../../../core/domain/wire/requests.ts";
import { detailSchema, nameCheckSchema } from "../../../core/domain/wire/responses.ts";
import { type Endpoint, json, type Rendered } from "../endpoint.ts";

const renderPage = (answer: unknown): Rendered => {
  const { partial, ...body } = answer as LogPage;
  return { body, headers: partial ? { "x-logs-partial": "true" } : {} };
};

export const deploymentEndpoints: readonly Endpoint[] = [
  json({
    method: "GET",
    path: "/v1/deployment/check-name",
    summary: "Is a deployment name free for you?",
    description:
      "Names of deployments are unique on the platform, because they become host names. A name that breaks " +
      "a rule is not available, and `reason` names the rule. A name of your own is available.",
    place: "query",
    fields: checkNameFields,
    answer: nameCheckSchema,
    run: (controlPlane, principal, request, options) => controlPlane.checkName(principal, request, options),
  }),
  json({
    method: "GET",
    path: "/v1/deployment/list",
    summary: "Your deployments, by name.",
    description:
      "The fields are those of the revision that serves, else those of the last attempt. Of the environment " +
      "only the names are shown.",
    place: "query",
    fields: {},
    answer: z.array(deploymentSchema),
    run: (controlPlane, principal, _request, options) => controlPlane.listDeployments(principal, options),
  }),
  json({
    method: "POST",
    path: "/v1/deployment/delete",
    summary: "Stop and remove a deployment; volumes and logs stay.",
    description:
      "Removes the schedule, then the service, and ends its running deploys. Its volumes keep their data, " +
      "and its log can be read for the retention time.",
    place: "body",
    fields: deleteFields,
    answer: detailSchema,
    run: (controlPlane, principal, request, options) => controlPlane.deleteDeployment(principal, request, options),
  }),
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
