/** Binds the ports and the control plane built on them. */
import { ContainerModule } from "inversify";
import { compileRe2 } from "../../adapters/shared/logs/re2.ts";
import { createControlPlane } from "../../core/control-plane.ts";
import type { Ports } from "../../core/ports/provider.ts";
import { BILLING, CLOCK, CONTROL_PLANE, IDENTITY, IDS, LOGGER, PORTS, PROVIDER, SETTINGS, WATCHING } from "./tokens.ts";

export const coreModule = new ContainerModule(({ bind }) => {
  bind(PORTS)
    .toResolvedValue(
      (watching, provider, identity, billing, clock, ids, logger): Ports =>
        watching.ports({ provider, identity, billing, clock, ids, logger, compilePattern: compileRe2 }),
      [WATCHING, PROVIDER, IDENTITY, BILLING, CLOCK, IDS, LOGGER],
    )
    .inSingletonScope();
  bind(CONTROL_PLANE)
    .toResolvedValue(
      (watching, ports, settings) => watching.controlPlane(createControlPlane(ports, settings)),
      [WATCHING, PORTS, SETTINGS],
    )
    .inSingletonScope();
});
