/** Deployments: their names, the list, removal, logs. */
import { z } from "zod";
import { detailSchema, nameCheckSchema } from "../../../core/domain/answers.ts";
import { deploymentSchema } from "../../../core/domain/deployment.ts";
import { type LogPage, logPageSchema } from "../../../core/domain/log-entry.ts";
import { checkNameFields, deleteFields, logsFields } from "../../../core/domain/requests.ts";
import { type Endpoint, json, type Rendered } from "./endpoint.ts";

const renderPage = (answer: unknown): Rendered => {
  const { partial, ...body } = answer as LogPage;
  return { body, headers: partial ? { "x-logs-partial": "true" } : {} };
};

export const deploymentEndpoints: readonly Endpoint[] = [
  json({
    method: "GET",
    path: "/v1/deployment/check-name",
    summary: "Is a deployment name free for you?",
    place: "query",
    fields: checkNameFields,
    answer: nameCheckSchema,
    run: (controlPlane, principal, request, options) => controlPlane.checkName(principal, request, options),
  }),
  json({
    method: "GET",
    path: "/v1/deployment/list",
    summary: "Your deployments, by name.",
    place: "query",
    fields: {},
    answer: z.array(deploymentSchema),
    run: (controlPlane, principal, _request, options) => controlPlane.listDeployments(principal, options),
  }),
  json({
    method: "POST",
    path: "/v1/deployment/delete",
    summary: "Stop and remove a deployment; volumes and logs stay.",
    place: "body",
    fields: deleteFields,
    answer: detailSchema,
    run: (controlPlane, principal, request, options) => controlPlane.deleteDeployment(principal, request, options),
  }),
  json({
    method: "POST",
    path: "/v1/deployment/logs",
    summary: "Entries of a deployment's log, oldest first.",
    place: "body",
    fields: logsFields,
    answer: logPageSchema,
    run: (controlPlane, principal, request, options) => controlPlane.readLogs(principal, request, options),
    render: renderPage,
  }),
];
