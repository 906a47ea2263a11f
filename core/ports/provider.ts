/** The ports of a provider, and all ports that the control plane needs. */

import type { CompilePattern } from "../domain/logs/filter/pattern.ts";
import type { InstancePrices } from "../domain/usage/instance-price.ts";
import type { Capabilities } from "../domain/wire/capabilities.ts";
import type { Unavailable } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { ApiKeys, Authenticator, TokenIssuer } from "./authenticator.ts";
import type { Billing } from "./billing.ts";
import type { DomainPorts } from "./domain-store.ts";
import type { ImageBuilder } from "./image-builder.ts";
import type { LogStore } from "./log-store.ts";
import type { MetricStore } from "./metric-store.ts";
import type { Scheduler } from "./scheduler.ts";
import type { SecretStore } from "./secret-store.ts";
import type { ServicePlatform } from "./service-platform.ts";
import type { Sessions } from "./sessions.ts";
import type { SourceSpool } from "./source-spool.ts";
import type { SqlEngine } from "./sql-engine.ts";
import type { CallOptions, Clock, Ids, Logger } from "./system.ts";
import type { VolumeStore } from "./volume-store.ts";

/** The version of these ports. `createControlPlane` throws if a provider has a different version. */
export const CONTRACT_VERSION = 1;

/** A platform that runs services, with its builds, volumes, schedules, logs and SQL. */
export interface Provider {
  /** Must be the `CONTRACT_VERSION` of the ports that the adapter implements. */
  readonly contractVersion: typeof CONTRACT_VERSION;
  /** The features that the provider supports. Must not change while the control plane runs. */
  readonly capabilities: Capabilities;
  readonly services: ServicePlatform;
  readonly builder: ImageBuilder;
  readonly volumes: VolumeStore;
  /** Must be present if the provider declares `secrets`. */
  readonly secrets?: SecretStore;
  /** Must be present if the provider declares `domains`. */
  readonly domains?: DomainPorts;
  readonly scheduler: Scheduler;
  readonly logs: LogStore;
  readonly sql: SqlEngine;
  readonly spool: SourceSpool;
  /** Must be present if the provider declares a series in `metrics`. */
  readonly metrics?: MetricStore;
  /** The prices of running instances, for the plan of a deploy. Absent if the operator has set no prices. */
  readonly instancePrices?: InstancePrices;
  /**
   * Checks the backing services, for `GET /ready`. Fails with `unavailable` if a service does not respond. The error
   * may name the failing services in `down`; the names must be safe to publish.
   */
  check(options?: CallOptions): ResultAsync<void, Unavailable>;
}

/** Authentication, keys and tokens. Independent of the provider. */
export interface Identity {
  readonly authenticator: Authenticator;
  readonly keys: ApiKeys;
  readonly tokens: TokenIssuer;
  /** The sessions of the console. If absent, users cannot sign in to the console with a link or a key. */
  readonly sessions?: Sessions;
}

/** All ports of a control plane. The first argument of `createControlPlane`. */
export interface Ports {
  readonly provider: Provider;
  readonly identity: Identity;
  readonly billing: Billing;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  /**
   * Compiles the regular expressions of log filters. Matching must take linear time, because clients write the
   * expressions.
   */
  readonly compilePattern: CompilePattern;
}
