/** Typed DI tokens: a binding of the wrong type does not compile. */
import type { ServiceIdentifier } from "inversify";
import type { ControlPlane } from "../../core/control-plane.ts";
import type { Billing } from "../../core/ports/billing.ts";
import type { Identity, Ports, Provider } from "../../core/ports/provider.ts";
import type { Clock, Ids, Logger } from "../../core/ports/system.ts";
import type { SettingsInput } from "../../core/use-cases/pipeline/context.ts";
import type { Watching } from "./observability.ts";

const token = <T>(name: string): ServiceIdentifier<T> => Symbol.for(`portside.${name}`) as ServiceIdentifier<T>;

export const CLOCK = token<Clock>("clock");
export const IDS = token<Ids>("ids");
export const LOGGER = token<Logger>("logger");
export const WATCHING = token<Watching>("watching");
export const PROVIDER = token<Provider>("provider");
export const IDENTITY = token<Identity>("identity");
export const BILLING = token<Billing>("billing");
export const PORTS = token<Ports>("ports");
export const SETTINGS = token<SettingsInput>("settings");
export const CONTROL_PLANE = token<ControlPlane>("control-plane");

/** The tokens that startup resolves, so that every part exists before the first request. */
export const roots: readonly ServiceIdentifier<unknown>[] = [
  CLOCK,
  IDS,
  LOGGER,
  WATCHING,
  PROVIDER,
  IDENTITY,
  BILLING,
  PORTS,
  SETTINGS,
  CONTROL_PLANE,
] as readonly ServiceIdentifier<unknown>[];
