import { subscriptionSchema } from "../../../core/domain/usage/subscription.ts";
import { type Endpoint, json } from "../endpoint.ts";

export const usageEndpoints: readonly Endpoint[] = [
  json({
    method: "GET",
    path: "/v1/user/subscription",
    summary: "What your account pays for.",
    description: "From the billing system that the platform is connected to.",
    place: "query",
    fields: {},
    answer: subscriptionSchema,
    run: (controlPlane, principal, _request, options) => controlPlane.getSubscription(principal, options),
  }),
];
