/** Deploys: start, plan, list, follow and cancel them. */

import { deployListSchema } from "../../../core/domain/deploy/deploy-list.ts";
import { deployEventSchema } from "../../../core/domain/deploy/events.ts";
import { deployFields } from "../../../core/domain/deploy/fields.ts";
import { cancelFields, listDeploysFields, resumeFields } from "../../../core/domain/wire/requests.ts";
import { detailSchema, planSchema } from "../../../core/domain/wire/responses.ts";
import { get, post } from "../endpoint.ts";

export const deployEndpoints = [
  {
    kind: "deploy",
    operation: "deploy",
    method: "POST",
    path: "/v1/deploy",
    summary: "Deploy from source and stream the deploy's records.",
    description:
      "A deploy is a complete declaration: its mounts and its schedule replace the previous ones. Send " +
      "`source_archive` or `source_object`. The server sends the first record immediately, and repeats the record of " +
      "a long step every 15 seconds. The last record is either `DONE` with the URL, or `ERROR` with a reason. " +
      "Disconnecting does not cancel the deploy.",
    fields: deployFields,
    response: deployEventSchema,
  },
  {
    kind: "plan",
    operation: "plan",
    method: "POST",
    path: "/v1/deploy/plan",
    summary: "Show what a deploy would change, without deploying.",
    description: "Takes the same fields as a deploy. The source is optional.",
    fields: deployFields,
    response: planSchema,
  },
  get("/v1/deploys", {
    operation: "listDeploys",
    summary: "List recent and running deploys, newest first.",
    description:
      "Contains deploys, rollbacks and other redeploys. Portside reads them from the log of the deployment, so old " +
      "deploys disappear when their entries expire. Follow or cancel a running deploy with its `deploy_id`, on the " +
      "server that runs it.",
    fields: listDeploysFields,
    response: deployListSchema,
    run: (controlPlane, principal, request, options) => controlPlane.listDeploys(principal, request, options),
  }),
  post("/v1/deploy/cancel", {
    operation: "cancelDeploy",
    summary: "Cancel a running deploy.",
    description:
      "The deploy ends with the reason `interrupted`. Fails with 409 if the deploy ends differently, for example because " +
      "the traffic has already moved to the new revision.",
    fields: cancelFields,
    response: detailSchema,
    run: (controlPlane, principal, request) => controlPlane.cancelDeploy(principal, request),
  }),
  {
    kind: "resume",
    operation: "followDeploy",
    method: "GET",
    path: "/v1/deploy/:deploy_id",
    summary: "Stream a deploy's records, starting at any record.",
    description:
      "Returns the records whose `seq` is greater than `after`, then new records as they occur. The server that ran a " +
      "deploy stores its records for up to one hour after its end.",
    fields: resumeFields,
    response: deployEventSchema,
  },
] as const;
