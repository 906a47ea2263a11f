/** Returns how much of its quotas an account uses. */
import { type AccountUsage, accountUsageOf, largestInstances } from "../../domain/accounts/quotas.ts";
import { ok, okAsync, safeTry } from "../../result.ts";
import { LIST_MAX_AGE_MS } from "../deploy/deployments.ts";
import { countDomains } from "../domains/domains.ts";
import { accountUseCase, type Caller } from "../pipeline/use-case.ts";

/** Counts the account's volumes. Returns 0 if the provider does not support volumes. */
const countVolumes = ({ context: { ports }, principal, options }: Caller) => {
  const { capabilities, volumes } = ports.provider;
  return capabilities.volumes.store.supported
    ? volumes.list(principal.account, options).map((own) => own.length)
    : okAsync(0);
};

export const getAccountUsage = accountUseCase({
  run: (call) =>
    safeTry(async function* () {
      const { context, principal, options } = call;
      const { account } = principal;
      const { services, capabilities } = context.ports.provider;
      const own = yield* await services.list(account, { ...options, maxAgeMs: LIST_MAX_AGE_MS });
      const volumes = yield* await countVolumes(call);
      const domains = yield* await countDomains(call);
      return ok<AccountUsage>(
        accountUsageOf(context.settings.accountLimits, {
          deployments: own.length,
          instances: largestInstances(own, capabilities.instances.preset),
          volumes,
          domains,
          builds_at_once: context.deploys.builds.granted(account),
          uploads_at_once: context.uploads.granted(account),
          sql_at_once: context.queries.granted(account),
          requests_per_minute: context.requests.used(account),
        }),
      );
    }),
});
