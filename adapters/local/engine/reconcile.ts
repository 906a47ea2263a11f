/** Compares the stored services with the running ones, and returns the changes that the engine must make. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { Revision } from "../../../core/domain/deploy/service-template.ts";
import type { Timestamp } from "../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";

/** The part of a stored service that the engine needs. */
export interface WantedService {
  readonly name: DeploymentName;
  readonly owner: AccountId;
  readonly createdAt: Timestamp;
  readonly serving: Revision | null;
}

/** A service that the engine runs. */
export interface RunningService {
  readonly owner: AccountId;
  readonly createdAt: Timestamp;
  /** The id of the revision that receives requests; null before the first one. */
  readonly revision: string | null;
}

/** Identifies a revision that is rolling out. The state contains its template. */
export interface Candidate {
  readonly name: DeploymentName;
  /** The time at which the service was created. A later service may have the same name and revision ids. */
  readonly createdAt: Timestamp;
  /** The revision's id. */
  readonly revision: string;
}

/** The changes, in the order in which the engine must make them. */
export interface Changes {
  readonly removed: readonly DeploymentName[];
  readonly added: readonly WantedService[];
  /** The services that start to serve their stored revision. */
  readonly served: readonly ServedService[];
}

export interface ServedService {
  readonly wanted: WantedService;
  readonly revision: Revision;
}

const isSame = (wanted: WantedService, running: RunningService | undefined): boolean =>
  wanted.owner === running?.owner && wanted.createdAt === running.createdAt;

/**
 * Compares the stored services with the running ones. A service that was deleted and created again is a different
 * service, although its revisions have the same ids: it is removed, and added again.
 */
export const changesTo = (
  wanted: readonly WantedService[],
  running: ReadonlyMap<DeploymentName, RunningService>,
): Changes => {
  const isRunning = (one: WantedService) => isSame(one, running.get(one.name));
  const present = new Set(wanted.filter(isRunning).map(({ name }) => name));
  return {
    removed: [...running.keys()].filter((name) => !present.has(name)),
    added: wanted.filter((one) => !isRunning(one)),
    served: wanted.flatMap((one): ServedService[] => {
      const { name, serving } = one;
      const isServing = serving === null || (isRunning(one) && serving.id === running.get(name)?.revision);
      return isServing ? [] : [{ wanted: one, revision: serving }];
    }),
  };
};
