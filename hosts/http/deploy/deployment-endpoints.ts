/** Deployments: check a name, list, read and delete, and fire a schedule. */
import { z } from "zod";
import { deploymentSchema } from "../../../core/domain/deploy/deployment.ts";
import { deploymentDetailsSchema } from "../../../core/domain/deploy/deployment-details.ts";
import { checkNameFields, deleteFields, fireFields, getDeploymentFields } from "../../../core/domain/wire/requests.ts";
import { detailSchema, fireSchema, nameCheckSchema } from "../../../core/domain/wire/responses.ts";
import { get, post } from "../endpoint.ts";

export const deploymentEndpoints = [
  get("/v1/deployment/check-name", {
    operation: "checkName",
    summary: "Check whether a deployment name is available to you.",
    description:
      "Deployment names are unique on the platform because they become host names. An invalid name is not " +
      "available, and `reason` names the broken rule. The names of your own deployments are available.",
    fields: checkNameFields,
    response: nameCheckSchema,
    run: (controlPlane, principal, request, options) => controlPlane.checkName(principal, request, options),
  }),
  get("/v1/deployment/list", {
    operation: "listDeployments",
    summary: "List your deployments by name.",
    description:
      "The fields describe the revision that serves or, if none serves, the last deploy. `env` contains only " +
      "the names of the variables.",
    response: z.array(deploymentSchema),
    run: (controlPlane, principal, _request, options) => controlPlane.listDeployments(principal, options),
  }),
  get("/v1/deployment/get", {
    operation: "getDeployment",
    summary: "Read a deployment with its instances, its last deploy and its schedule.",
    description:
      "In addition to the fields of the list, returns the serving release, the instances with their states, the " +
      "message of the last deploy, and the next runs of the schedule.",
    fields: getDeploymentFields,
    response: deploymentDetailsSchema,
    run: (controlPlane, principal, request, options) => controlPlane.getDeployment(principal, request, options),
  }),
  post("/v1/deployment/fire", {
    operation: "fireSchedule",
    summary: "Run a deployment's schedule now.",
    description:
      "Sends `POST /cron` with the current time as the scheduled time, and retries it like a scheduled call. Does " +
      "not wait for the outcome. `cron.last` of `GET /v1/deployment/get` and the log show it with the `fire_id` of " +
      "the response. Fails with 409 if the deployment has no schedule, and with 503 if too many requested runs have " +
      "not ended.",
    fields: fireFields,
    response: fireSchema,
    run: (controlPlane, principal, request, options) => controlPlane.fireSchedule(principal, request, options),
  }),
  post("/v1/deployment/delete", {
    operation: "deleteDeployment",
    summary: "Delete a deployment. Its volumes and logs remain.",
    description:
      "Cancels running deploys, removes the schedule and stops the service. Volumes keep their data. The log can be " +
      "read until its retention period ends.",
    fields: deleteFields,
    response: detailSchema,
    run: (controlPlane, principal, request, options) => controlPlane.deleteDeployment(principal, request, options),
  }),
] as const;
