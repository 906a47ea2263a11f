/** Stores schedules. Only earlier versions of Portside write the column `last_fire`. */
import type { DatabaseSync } from "node:sqlite";
import type { CronJob } from "../../../core/domain/schedules/cron-job.ts";
import type { ScheduledService } from "../../../core/ports/scheduler.ts";
import { selectAll, selectFirst } from "./sql.ts";

interface Row {
  readonly job: string;
}

export const jobOf = ({ job }: Row): CronJob => JSON.parse(job) as CronJob;

export class ScheduleRows {
  readonly #db: DatabaseSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  all(): CronJob[] {
    return selectAll<Row>(this.#db, "SELECT job FROM schedules").map(jobOf);
  }

  find({ owner, name }: ScheduledService): CronJob | null {
    const row = selectFirst<Row>(this.#db, "SELECT job FROM schedules WHERE owner = ? AND name = ?", owner, name);
    return row === undefined ? null : jobOf(row);
  }

  put(job: CronJob): void {
    this.#db
      .prepare(
        "INSERT INTO schedules (owner, name, job) VALUES (?, ?, ?) ON CONFLICT (owner, name) DO UPDATE SET job = excluded.job",
      )
      .run(job.owner, job.name, JSON.stringify(job));
  }

  remove({ owner, name }: ScheduledService): void {
    this.#db.prepare("DELETE FROM schedules WHERE owner = ? AND name = ?").run(owner, name);
  }
}
