/** The ports together: what a provider brings, and what the control plane needs. */
import type { Capabilities } from "../domain/capabilities.ts";
import type { CompilePattern } from "../domain/log-filter/pattern.ts";
import type { Unavailable } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { ApiKeys, Authenticator, TokenIssuer } from "./authenticator.ts";
import type { Billing } from "./billing.ts";
import type { ImageBuilder } from "./image-builder.ts";
import type { LogStore } from "./log-store.ts";
import type { Scheduler } from "./scheduler.ts";
import type { ServicePlatform } from "./service-platform.ts";
import type { SourceSpool } from "./source-spool.ts";
import type { SqlEngine } from "./sql-engine.ts";
import type { CallOptions, Clock, Ids, Logger } from "./system.ts";
import type { VolumeStore } from "./volume-store.ts";

/** The version of these ports; a provider made for another is refused at start. */
export const CONTRACT_VERSION = 1;

/** A place where services run, with everything that belongs to it. */
export interface Provider {
  readonly contractVersion: typeof CONTRACT_VERSION;
  readonly capabilities: Capabilities;
  readonly services: ServicePlatform;
  readonly builder: ImageBuilder;
  readonly volumes: VolumeStore;
  readonly scheduler: Scheduler;
  readonly logs: LogStore;
  readonly sql: SqlEngine;
  readonly spool: SourceSpool;
  /** Ok where its backing services answer. */
  check(options?: CallOptions): ResultAsync<void, Unavailable>;
}

/** Who callers are; chosen apart from the provider. */
export interface Identity {
  readonly authenticator: Authenticator;
  readonly keys: ApiKeys;
  readonly tokens: TokenIssuer;
}

export interface Ports {
  readonly provider: Provider;
  readonly identity: Identity;
  /** Who collects money from accounts; chosen apart from the provider as well. */
  readonly billing: Billing;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly compilePattern: CompilePattern;
}
