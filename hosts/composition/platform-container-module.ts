/** Binds everything except the provider: runtime dependencies, observability, credentials, billing and policies. */
import { ContainerModule } from "inversify";
import { createSystemClock, randomIds } from "../../adapters/shared/runtime/system.ts";
import type { Logger } from "../../core/ports/system.ts";
import { openIdentity } from "./accounts/identity.ts";
import { createBilling } from "./billing.ts";
import { createObservability } from "./observability.ts";
import type { ServeSettings } from "./settings.ts";
import { tokens } from "./tokens.ts";

/** @param stack closes the resources that the bindings open */
export const platformContainerModule = (settings: ServeSettings, log: Logger, stack: AsyncDisposableStack) =>
  new ContainerModule(({ bind }) => {
    const { clock, ids, logger, policies, observability, runtime, identity, loaded, billing } = tokens;
    bind(clock).toConstantValue(createSystemClock());
    bind(ids).toConstantValue(randomIds);
    bind(logger).toConstantValue(log);
    bind(policies).toConstantValue([]);
    bind(observability).toResolvedValue((bound) => createObservability(settings, bound), [logger]);
    bind(runtime).toResolvedValue(
      (clock, ids, logger, { telemetry }) => ({ clock, ids, logger, telemetry }),
      [clock, ids, logger, observability],
    );
    bind(identity).toResolvedValue((chosen, deps) => openIdentity(settings, chosen, deps, stack), [loaded, runtime]);
    bind(billing).toResolvedValue((deps) => createBilling(settings, deps), [runtime]);
  });
