import { subscriptionSchema } from "../../../core/domain/usage/subscription.ts";
import { get } from "../endpoint.ts";

export const usageEndpoints = [
  get("/v1/user/subscription", {
    operation: "getSubscription",
    summary: "Get the subscription of your account.",
    description: "The data comes from the billing system of the platform.",
    response: subscriptionSchema,
    run: (controlPlane, principal, _request, options) => controlPlane.getSubscription(principal, options),
  }),
] as const;
