/** The dependencies of use cases: the ports, the settings, and the deploys of this process. */

import {
  type AccountLimits,
  accountLimits,
  type DeployLimits,
  deployLimits,
  type LogLimits,
  logLimits,
} from "../../domain/accounts/limits.ts";
import { type DeployReport, sizeOfReport } from "../../domain/deploy/deployment-details.ts";
import { type EnvAliases, envAliasesProblem } from "../../domain/deploy/environment.ts";
import type { Policy } from "../../domain/deploy/policy.ts";
import { reservedNames } from "../../domain/wire/names.ts";
import type { Ports } from "../../ports/provider.ts";
import { SignInCounter } from "../accounts/sign-in-counter.ts";
import { RunningDeploys } from "../deploy/running-deploys.ts";
import { HeldReads } from "../logs/held-reads.ts";
import { BoundedMap } from "./bounded-map.ts";
import { KeyedSemaphore } from "./keyed-semaphore.ts";
import { RequestCounter } from "./request-counter.ts";

/** The settings of a control plane, with all defaults. */
export interface Settings {
  readonly accountLimits: AccountLimits;
  readonly deployLimits: DeployLimits;
  readonly logLimits: LogLimits;
  readonly reservedNames: readonly string[];
  /** Additional names under which services see variables of the platform. Deploys must not set these names in `env`. */
  readonly envAliases: EnvAliases;
  /** Applied in this order to every deploy and plan. */
  readonly policies: readonly Policy[];
}

export interface Context {
  readonly ports: Ports;
  readonly settings: Settings;
  readonly deploys: RunningDeploys;
  /** Caches the reports of ended deploys by account and deploy, because a search of the log is slow or uses quota. */
  readonly reports: BoundedMap<DeployReport>;
  /** Limits the concurrent uploads of sources per account. */
  readonly uploads: KeyedSemaphore;
  /** The requests that wait for a log entry. */
  readonly heldReads: HeldReads;
  /** Limits the concurrent SQL queries per account. */
  readonly queries: KeyedSemaphore;
  /** Permits one read of metrics per account at a time, because it reads thousands of rows. */
  readonly metricReads: KeyedSemaphore;
  /** Per account, permits either one change to its secrets, or one check that such a change must not interrupt. */
  readonly secrets: KeyedSemaphore;
  /** Permits one change to the domains of an account at a time. */
  readonly domains: KeyedSemaphore;
  /** Limits the requests per account and minute. */
  readonly requests: RequestCounter;
  /** Limits the failed attempts to sign in to the console with a key, per network address. */
  readonly signIns: SignInCounter;
}

/** The settings of a control plane. Each omitted setting has its default. */
export interface SettingsInput extends Partial<Pick<Settings, "reservedNames" | "envAliases" | "policies">> {
  readonly accountLimits?: Partial<AccountLimits>;
  readonly deployLimits?: Partial<DeployLimits>;
  readonly logLimits?: Partial<LogLimits>;
}

/** The maximum total size of `Context.reports`. */
const MAX_REPORT_CHARS = 4 * 1024 * 1024;

/** Returns the provider's default deadlines. */
const deadlinesOf = ({ provider }: Ports): Partial<DeployLimits> => {
  const { build, listen, rollout } = provider.capabilities.deadlines;
  return { buildDeadlineMs: build * 1000, listenDeadlineMs: listen * 1000, rolloutDeadlineMs: rollout * 1000 };
};

export const createContext = (ports: Ports, input: SettingsInput): Context => {
  const problem = envAliasesProblem(input.envAliases ?? {});
  if (problem !== undefined) throw new TypeError(`envAliases: ${problem}`);
  const settings: Settings = {
    accountLimits: { ...accountLimits, ...input.accountLimits },
    deployLimits: { ...deployLimits, ...deadlinesOf(ports), ...input.deployLimits },
    logLimits: { ...logLimits, ...input.logLimits },
    reservedNames: input.reservedNames ?? reservedNames,
    envAliases: input.envAliases ?? {},
    policies: input.policies ?? [],
  };
  return {
    ports,
    settings,
    deploys: new RunningDeploys(ports.clock, settings.deployLimits, settings.accountLimits.buildsAtOnce),
    reports: new BoundedMap(MAX_REPORT_CHARS, sizeOfReport),
    uploads: new KeyedSemaphore(settings.accountLimits.uploadsAtOnce),
    heldReads: new HeldReads(ports.clock, settings.logLimits.waitingAtOnce),
    queries: new KeyedSemaphore(settings.accountLimits.sqlAtOnce),
    metricReads: new KeyedSemaphore(1),
    secrets: new KeyedSemaphore(1),
    domains: new KeyedSemaphore(1),
    signIns: new SignInCounter(ports.clock),
    requests: new RequestCounter(ports.clock, settings.accountLimits.requestsPerMinute),
  };
};
