/** Binds what does not depend on the provider: clock, ids, logger, observability, billing and policies. */
import { ContainerModule } from "inversify";
import { createSystemClock, randomIds } from "../../adapters/shared/runtime/system.ts";
import type { Logger } from "../../core/ports/system.ts";
import { createBilling } from "./billing.ts";
import { createObservability } from "./observability.ts";
import type { ServeSettings } from "./settings.ts";
import { BILLING, CLOCK, IDS, LOGGER, OBSERVABILITY, POLICIES, RUNTIME } from "./tokens.ts";

export const runtimeContainerModule = (settings: ServeSettings, logger: Logger): ContainerModule =>
  new ContainerModule(({ bind }) => {
    bind(CLOCK).toConstantValue(createSystemClock());
    bind(IDS).toConstantValue(randomIds);
    bind(LOGGER).toConstantValue(logger);
    bind(POLICIES).toConstantValue([]);
    bind(OBSERVABILITY).toResolvedValue((bound) => createObservability(settings, bound), [LOGGER]);
    bind(RUNTIME).toResolvedValue(
      (clock, ids, bound, { telemetry }) => ({ clock, ids, logger: bound, telemetry }),
      [CLOCK, IDS, LOGGER, OBSERVABILITY],
    );
    bind(BILLING).toResolvedValue((deps) => createBilling(settings, deps), [RUNTIME]);
  });
