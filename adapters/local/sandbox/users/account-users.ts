/** Assigns each account a separate and permanent user (uid). */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { DeployFailure } from "../../../../core/domain/deploy/reason.ts";
import type { Logger } from "../../../../core/ports/system.ts";
import { tryOr } from "../../../shared/runtime/try-or.ts";
import type { AccountUserRows } from "../../state/account-users.ts";
import { freeUid, holdersWithin, type UidRange } from "./uid-range.ts";

/** Returns the uid of an account, which is also its gid, or undefined if accounts have no separate users. */
export type UserOf = (owner: AccountId) => number | undefined;

export class NoUserLeft extends Error {
  get failure(): DeployFailure {
    return { reason: "provider_unavailable", message: this.message };
  }

  constructor({ from, to }: UidRange) {
    super(
      `All uids ${from}-${to} of the platform are in use, so a new account cannot run services. The operator can set a larger --uid-range.`,
    );
  }
}

const textOf = (path: string): string => tryOr(() => readFileSync(path, "utf8"), "");

/** Returns the reason why the range cannot be used on this machine, or undefined. */
export const uidRangeProblem = (range: UidRange): string | undefined => {
  // A user and its group usually have the same name and number, so the set removes duplicates.
  const holders = new Set([
    ...holdersWithin(range, textOf("/etc/passwd"), textOf("/etc/subuid")),
    ...holdersWithin(range, textOf("/etc/group"), textOf("/etc/subgid")),
  ]);
  return holders.size === 0
    ? undefined
    : `The uid range ${range.from}-${range.to} contains ${[...holders].join(", ")}. Choose another range with --uid-range.`;
};

/** Whether a user or group of this machine or its directory service has the id. */
const isHostId = (uid: number): boolean =>
  ["passwd", "group"].some(
    (database) => spawnSync("getent", [database, String(uid)], { stdio: "ignore", timeout: 10_000 }).status === 0,
  );

/** Caches the users of accounts, which never change. */
const remembering = (find: (owner: AccountId) => number): UserOf => {
  const known = new Map<AccountId, number>();
  return (owner) => {
    const uid = known.get(owner) ?? find(owner);
    known.set(owner, uid);
    return uid;
  };
};

/**
 * Returns a function that assigns users and throws `NoUserLeft` if the range is full. `chooseUsers` throws if the range
 * cannot be used on this machine.
 * @param separate whether accounts have separate users
 * @param scope identifies the data folder; two servers on one machine start their searches at different uids
 */
export const chooseUsers = (separate: boolean, rows: AccountUserRows, range: UidRange, scope: string): UserOf => {
  if (!separate) return () => undefined;
  const problem = uidRangeProblem(range);
  if (problem !== undefined) throw new Error(problem);
  const assign = (owner: AccountId): number => {
    const start = createHash("sha256").update(`${scope}\0${owner}`).digest().readUInt32BE();
    const uid = freeUid(range, start, (one) => rows.has(one) || isHostId(one));
    if (uid === undefined) throw new NoUserLeft(range);
    rows.insert(owner, uid);
    return uid;
  };
  return remembering((owner) => rows.uidOf(owner) ?? assign(owner));
};

/**
 * Assigns a user to each account that has none yet, for example because the server previously used a runner that did
 * not separate accounts.
 */
export const assignUsers = (owners: Iterable<AccountId>, userOf: UserOf, logger: Logger): void => {
  for (const owner of owners)
    try {
      userOf(owner);
    } catch (cause) {
      if (!(cause instanceof NoUserLeft)) throw cause;
      logger.warn(cause.message, { owner });
    }
};

/**
 * Returns a function that finds the users that the server has assigned. The function throws `NoUserLeft` for other
 * accounts.
 * @param separate whether accounts have separate users
 */
export const assignedUsers = (separate: boolean, rows: Pick<AccountUserRows, "uidOf">, range: UidRange): UserOf => {
  if (!separate) return () => undefined;
  return remembering((owner) => {
    const uid = rows.uidOf(owner);
    if (uid === undefined) throw new NoUserLeft(range);
    return uid;
  });
};
