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

export type Change =
  | { readonly kind: "remove"; readonly name: DeploymentName }
  | { readonly kind: "add"; readonly wanted: WantedService }
  | { readonly kind: "serve"; readonly wanted: WantedService; readonly revision: Revision };

const isSame = (wanted: WantedService, running: RunningService): boolean =>
  wanted.owner === running.owner && wanted.createdAt === running.createdAt;

/**
 * Returns the changes in the order in which to make them. A service that was deleted and created again is a different
 * service, although its revisions have the same ids. The engine removes the old one first.
 */
export const changesTo = (
  wanted: readonly WantedService[],
  running: ReadonlyMap<DeploymentName, RunningService>,
): readonly Change[] => {
  const stored = new Map(wanted.map((one) => [one.name, one]));
  const removed = [...running].flatMap(([name, one]): Change[] => {
    const now = stored.get(name);
    return now !== undefined && isSame(now, one) ? [] : [{ kind: "remove", name }];
  });
  const others = wanted.flatMap((one): Change[] => {
    const before = running.get(one.name);
    const isNew = before === undefined || !isSame(one, before);
    const added: Change[] = isNew ? [{ kind: "add", wanted: one }] : [];
    const { serving } = one;
    if (serving === null || (!isNew && serving.id === before.revision)) return added;
    return [...added, { kind: "serve", wanted: one, revision: serving }];
  });
  return [...removed, ...others];
};
