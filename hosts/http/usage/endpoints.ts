import { costReportSchema } from "../../../core/domain/usage/cost.ts";
import { metricsSchema } from "../../../core/domain/usage/metrics.ts";
import { subscriptionSchema } from "../../../core/domain/usage/subscription.ts";
import { costFields, metricsFields } from "../../../core/domain/wire/requests.ts";
import { get } from "../endpoint.ts";

export const usageEndpoints = [
  get("/v1/cost", {
    operation: "getCost",
    summary: "Add up your costs in a period, by day, deployment, user, chat or model.",
    description:
      "The cost of models comes from the usage lines in the logs of your deployments. Deleted deployments count if the " +
      "provider charged for them in the period. A report counts as a running SQL query of your account.",
    fields: costFields,
    response: costReportSchema,
    run: (controlPlane, principal, request, options) => controlPlane.getCost(principal, request, options),
  }),
  get("/v1/metrics", {
    operation: "getMetrics",
    summary: "Get time series of your deployments.",
    description:
      "The series are requests by status class, quantiles of the latency, instances, CPU, memory and cold starts. " +
      "`metrics` of `/v1/capabilities` states which ones the platform measures.",
    fields: metricsFields,
    response: metricsSchema,
    run: (controlPlane, principal, request, options) => controlPlane.getMetrics(principal, request, options),
  }),
  get("/v1/user/subscription", {
    operation: "getSubscription",
    summary: "Get the subscription of your account.",
    description: "The data comes from the billing system of the platform.",
    response: subscriptionSchema,
    run: (controlPlane, principal, _request, options) => controlPlane.getSubscription(principal, options),
  }),
] as const;
