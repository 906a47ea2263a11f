/** What the caller's account pays for. */
import type { Principal } from "../../domain/accounts/account.ts";
import type { Subscription } from "../../domain/usage/subscription.ts";
import { refusal } from "../../domain/wire/capabilities.ts";
import type { ControlPlaneError } from "../../errors.ts";
import type { CallOptions } from "../../ports/system.ts";
import { err, type ResultAsync } from "../../result.ts";
import { catchBugs } from "../pipeline/catch-bugs.ts";
import type { Context } from "../pipeline/context.ts";

export const getSubscription = (
  { ports }: Context,
  { account }: Principal,
  options: CallOptions = {},
): ResultAsync<Subscription, ControlPlaneError> =>
  catchBugs<Subscription, ControlPlaneError>(async () => {
    const missing = refusal(ports.provider.capabilities.subscription);
    return missing === undefined ? await ports.billing.subscription(account, options) : err(missing);
  });
