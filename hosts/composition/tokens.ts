/** Typed DI tokens: a binding of the wrong type does not compile. */
import type { ServiceIdentifier } from "inversify";
import type { Policy } from "../../core/domain/deploy/policy.ts";
import type { Billing } from "../../core/ports/billing.ts";
import type { Identity, Provider } from "../../core/ports/provider.ts";
import type { LoadedProvider, RuntimeDeps } from "../../core/ports/provider-module.ts";
import type { Clock, Ids, Logger } from "../../core/ports/system.ts";
import type { Observability } from "./observability.ts";

export interface PlatformIdentity {
  readonly identity: Identity;
  /** Returns true if the caller must create the first key. */
  readonly claimFirstKey?: () => boolean | Promise<boolean>;
}

const token = <T>(name: string): ServiceIdentifier<T> => Symbol.for(`portside.${name}`) as ServiceIdentifier<T>;

// Embedders may override these (`PlatformOverrides`).
export const CLOCK = token<Clock>("clock");
export const IDS = token<Ids>("ids");
export const LOGGER = token<Logger>("logger");
export const PROVIDER = token<Provider>("provider");
export const IDENTITY = token<PlatformIdentity>("identity");
export const BILLING = token<Billing>("billing");
export const POLICIES = token<readonly Policy[]>("policies");

// Shared by several bindings.
export const OBSERVABILITY = token<Observability>("observability");
export const RUNTIME = token<RuntimeDeps>("runtime");
export const LOADED_PROVIDER = token<LoadedProvider>("loaded-provider");
