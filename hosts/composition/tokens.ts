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

export const tokens = {
  // Embedders may override these (`PlatformOverrides`).
  clock: token<Clock>("clock"),
  ids: token<Ids>("ids"),
  logger: token<Logger>("logger"),
  provider: token<Provider>("provider"),
  identity: token<PlatformIdentity>("identity"),
  billing: token<Billing>("billing"),
  policies: token<readonly Policy[]>("policies"),
  // Several bindings depend on these.
  observability: token<Observability>("observability"),
  runtime: token<RuntimeDeps>("runtime"),
  loaded: token<LoadedProvider>("loaded-provider"),
};
