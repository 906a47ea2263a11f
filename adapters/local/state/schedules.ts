/** Stores schedules. The column `last_fire` has values only in data folders of earlier versions. */
import type { DatabaseSync } from "node:sqlite";
import type { CronJob } from "../../../core/domain/schedules/cron-job.ts";
import type { ScheduledService } from "../../../core/ports/scheduler.ts";

const jobOf = (row: unknown): CronJob => JSON.parse((row as { job: string }).job) as CronJob;

export class ScheduleRows {
  readonly #db: DatabaseSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  all(): CronJob[] {
    return this.#db.prepare("SELECT job FROM schedules").all().map(jobOf);
  }

  find({ owner, name }: ScheduledService): CronJob | null {
    const row = this.#db.prepare("SELECT job FROM schedules WHERE owner = ? AND name = ?").get(owner, name);
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
