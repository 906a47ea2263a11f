/** Reads the subscription of an account. */
import { accountUseCase } from "../pipeline/use-case.ts";

export const getSubscription = accountUseCase({
  requires: (capabilities) => capabilities.subscription,
  run: ({ context, principal, options }) => context.ports.billing.subscription(principal.account, options),
});
