/** What every use case works with: the ports, the settings, and the deploys of this replica. */

import {
  type AccountLimits,
  accountLimits,
  type DeployLimits,
  deployLimits,
  type LogLimits,
  logLimits,
} from "../../domain/accounts/limits.ts";
import { type EnvAliases, envAliasesProblem } from "../../domain/deploy/environment.ts";
import type { Policy } from "../../domain/deploy/policy.ts";
import { reservedNames } from "../../domain/wire/names.ts";
import type { Ports } from "../../ports/provider.ts";
import { RunningDeploys } from "../deploy/running-deploys.ts";
import { KeyedSemaphore } from "./keyed-semaphore.ts";

export interface Settings {
  readonly accountLimits: AccountLimits;
  readonly deployLimits: DeployLimits;
  readonly logLimits: LogLimits;
  readonly reservedNames: readonly string[];
  /** Names under which services see variables of the platform as well; 422 in `env`. */
  readonly envAliases: EnvAliases;
  /** Asked in this order about every deploy and plan. */
  readonly policies: readonly Policy[];
}

export interface Context {
  readonly ports: Ports;
  readonly settings: Settings;
  readonly runs: RunningDeploys;
  /** Uploads that are being received, by account. */
  readonly uploads: KeyedSemaphore;
  /** SQL queries that run, by account. */
  readonly queries: KeyedSemaphore;
}

export interface SettingsInput {
  readonly accountLimits?: Partial<AccountLimits>;
  readonly deployLimits?: Partial<DeployLimits>;
  readonly logLimits?: Partial<LogLimits>;
  readonly reservedNames?: readonly string[];
  readonly envAliases?: EnvAliases;
  readonly policies?: readonly Policy[];
}

/** How long the phases of a deploy may take on this provider, where nobody says otherwise. */
const providersOwn = ({ provider }: Ports): Partial<DeployLimits> => {
  const { build, listen, rollout } = provider.capabilities.deadlines;
  return { buildDeadline: build * 1000, listenDeadline: listen * 1000, rolloutDeadline: rollout * 1000 };
};

export const createContext = (ports: Ports, input: SettingsInput): Context => {
  const problem = envAliasesProblem(input.envAliases ?? {});
  if (problem !== undefined) throw new TypeError(`envAliases: ${problem}`);
  const settings: Settings = {
    accountLimits: { ...accountLimits, ...input.accountLimits },
    deployLimits: { ...deployLimits, ...providersOwn(ports), ...input.deployLimits },
    logLimits: { ...logLimits, ...input.logLimits },
    reservedNames: input.reservedNames ?? reservedNames,
    envAliases: input.envAliases ?? {},
    policies: input.policies ?? [],
  };
  return {
    ports,
    settings,
    runs: new RunningDeploys(ports.clock, settings.deployLimits, settings.accountLimits.buildsAtOnce),
    uploads: new KeyedSemaphore(settings.accountLimits.uploadsAtOnce),
    queries: new KeyedSemaphore(settings.accountLimits.sqlAtOnce),
  };
};
