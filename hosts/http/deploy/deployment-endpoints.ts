/** Deployments: their names, the list, removal. */
import { z } from "zod";
import { deploymentSchema } from "../../../core/domain/deploy/deployment.ts";
import { checkNameFields, deleteFields } from "../../../core/domain/wire/requests.ts";
import { detailSchema, nameCheckSchema } from "../../../core/domain/wire/responses.ts";
import { type Endpoint, json } from "../endpoint.ts";

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
];
