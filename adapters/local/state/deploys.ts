/** Stores the status of deploys: the last one of each service, and all unfinished ones. */
import type { DatabaseSync } from "node:sqlite";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { DeployOutcome, DeployStatus } from "../../../core/domain/deploy/events.ts";
import type { DeployReason } from "../../../core/domain/deploy/reason.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import { scopeKey } from "../../shared/accounts/scope-key.ts";
import { transaction } from "./database.ts";

export interface StoredDeploy extends DeployOutcome {
  readonly name: DeploymentName;
  readonly owner: AccountId;
}

interface Row {
  deploy_id: string;
  name: string;
  owner: string;
  status: string;
  reason: string | null;
  finished_at: string | null;
}

/** Copies only the fields of an outcome. */
const bareOutcome = ({ deployId, status, reason, finishedAt }: DeployOutcome): DeployOutcome => ({
  deployId,
  status,
  reason,
  finishedAt,
});

const outcomeOf = (row: Row): StoredDeploy => ({
  deployId: row.deploy_id,
  name: row.name as DeploymentName,
  owner: row.owner as AccountId,
  status: row.status as DeployStatus,
  reason: row.reason as DeployReason | null,
  finishedAt: row.finished_at,
});

export class DeployRows {
  readonly #db: DatabaseSync;
  readonly #last = new Map<string, DeployOutcome>();
  #noted = 0;

  constructor(db: DatabaseSync) {
    this.#db = db;
    for (const row of db.prepare("SELECT * FROM deploys ORDER BY noted").all() as unknown as (Row & {
      noted: number;
    })[]) {
      this.#last.set(scopeKey(row.owner, row.name), bareOutcome(outcomeOf(row)));
      this.#noted = row.noted;
    }
  }

  /** The last recorded outcome of the service's deploys. */
  last(owner: AccountId, name: DeploymentName): DeployOutcome | null {
    return this.#last.get(scopeKey(owner, name)) ?? null;
  }

  /** @param exists whether the service exists; without a service, only unfinished deploys are stored */
  note(deploy: StoredDeploy, exists: boolean): void {
    const { deployId, name, owner, status, reason, finishedAt } = deploy;
    const isKept = finishedAt === null || exists;
    // The copy in memory changes even if the write fails: the next start ends all deploys that are unfinished in the file.
    if (isKept) this.#last.set(scopeKey(owner, name), bareOutcome(deploy));
    else this.#last.delete(scopeKey(owner, name));
    transaction(this.#db, () => {
      if (finishedAt !== null)
        this.#db
          .prepare("DELETE FROM deploys WHERE owner = ? AND name = ? AND finished_at IS NOT NULL")
          .run(owner, name);
      if (isKept)
        this.#db
          .prepare(
            "INSERT OR REPLACE INTO deploys (deploy_id, noted, name, owner, status, reason, finished_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
          )
          .run(deployId, ++this.#noted, name, owner, status, reason, finishedAt);
      else this.#db.prepare("DELETE FROM deploys WHERE deploy_id = ?").run(deployId);
    });
  }

  /** Returns deploys that have begun and not ended. At startup, these are the ones that a crash interrupted. */
  unfinished(): StoredDeploy[] {
    return (
      this.#db.prepare("SELECT * FROM deploys WHERE finished_at IS NULL ORDER BY noted").all() as unknown as Row[]
    ).map(outcomeOf);
  }

  /** Clears only the copy in memory, because deleting the service deletes the rows. */
  forget(owner: AccountId, name: DeploymentName): void {
    this.#last.delete(scopeKey(owner, name));
  }
}
