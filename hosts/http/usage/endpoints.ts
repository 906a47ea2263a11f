import { costReportSchema } from "../../../core/domain/usage/cost.ts";
import { subscriptionSchema } from "../../../core/domain/usage/subscription.ts";
import { costFields } from "../../../core/domain/wire/requests.ts";
import { type Endpoint, get } from "../endpoint.ts";

export const usageEndpoints: readonly Endpoint[] = [
  get("/v1/cost", {
    summary: "Add up your costs in a period, by day, deployment, user, chat or model.",
    description:
      "The cost of models comes from the usage lines in the logs of your deployments. Deleted deployments count if the " +
      "platform charged for them in the period. A report counts as a running SQL query of your account.",
    fields: costFields,
    response: costReportSchema,
    run: (controlPlane, principal, request, options) => controlPlane.getCost(principal, request, options),
  }),
  get("/v1/user/subscription", {
    summary: "Get the subscription of your account.",
    description: "The data comes from the billing system of the platform.",
    response: subscriptionSchema,
    run: (controlPlane, principal, _request, options) => controlPlane.getSubscription(principal, options),
  }),
];
