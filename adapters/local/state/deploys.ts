/** Stores the status of each service's last deploy and of all unfinished deploys. */
import type { DatabaseSync } from "node:sqlite";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { type DeployOutcome, isLastDeploy } from "../../../core/domain/deploy/events.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import { scopeKey } from "../../shared/accounts/scope-key.ts";
import { transaction } from "./database.ts";
import { insert, selectAll } from "./sql.ts";

export interface StoredDeploy extends DeployOutcome {
  readonly name: DeploymentName;
  readonly owner: AccountId;
}

const COLUMNS = "deploy_id AS deployId, name, owner, status, reason, finished_at AS finishedAt";

/** Copies only the fields of an outcome. */
const bareOutcome = ({ deployId, status, reason, finishedAt }: DeployOutcome): DeployOutcome => ({
  deployId,
  status,
  reason,
  finishedAt,
});

export class DeployRows {
  readonly #db: DatabaseSync;
  readonly #last = new Map<string, DeployOutcome>();
  #noted = 0;

  constructor(db: DatabaseSync) {
    this.#db = db;
    const deploys = `SELECT ${COLUMNS}, noted FROM deploys ORDER BY noted`;
    for (const deploy of selectAll<StoredDeploy & { noted: number }>(db, deploys)) {
      this.#last.set(scopeKey(deploy.owner, deploy.name), bareOutcome(deploy));
      this.#noted = deploy.noted;
    }
  }

  /** Returns the last recorded outcome of the service's deploys. */
  last(owner: AccountId, name: DeploymentName): DeployOutcome | null {
    return this.#last.get(scopeKey(owner, name)) ?? null;
  }

  /** @param exists whether the service exists; without a service, only unfinished deploys are stored */
  note(deploy: StoredDeploy, exists: boolean): void {
    const { deployId, name, owner, status, reason, finishedAt } = deploy;
    const remove = () => this.#db.prepare("DELETE FROM deploys WHERE deploy_id = ?").run(deployId);
    if (!isLastDeploy(this.last(owner, name), deploy)) {
      remove();
      return;
    }
    const isKept = finishedAt === null || exists;
    // Change the copy in memory even if the write fails. The next start ends all deploys that are unfinished in the
    // file.
    if (isKept) this.#last.set(scopeKey(owner, name), bareOutcome(deploy));
    else this.#last.delete(scopeKey(owner, name));
    transaction(this.#db, () => {
      if (finishedAt !== null)
        this.#db
          .prepare("DELETE FROM deploys WHERE owner = ? AND name = ? AND finished_at IS NOT NULL")
          .run(owner, name);
      const row = { deploy_id: deployId, name, owner, status, reason, finished_at: finishedAt };
      if (isKept) insert(this.#db, "INSERT OR REPLACE INTO deploys", { ...row, noted: ++this.#noted });
      else remove();
    });
  }

  /** Returns the deploys that have not ended. At startup, these are the deploys that a crash interrupted. */
  unfinished(): StoredDeploy[] {
    return selectAll(this.#db, `SELECT ${COLUMNS} FROM deploys WHERE finished_at IS NULL ORDER BY noted`);
  }

  /** Clears only the copy in memory, because deleting the service deletes the rows. */
  forget(owner: AccountId, name: DeploymentName): void {
    this.#last.delete(scopeKey(owner, name));
  }
}
