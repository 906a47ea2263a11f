/** Stores schedules. Their latest fires are mirrored in memory. */
import type { DatabaseSync } from "node:sqlite";
import type { CronJob } from "../../../core/domain/schedules/cron-job.ts";
import type { LastFire } from "../../../core/domain/schedules/fire-policy.ts";
import type { ScheduledService } from "../../../core/ports/scheduler.ts";
import { scopeKey } from "../../shared/accounts/scope-key.ts";

const jobOf = (row: unknown): CronJob => JSON.parse((row as { job: string }).job) as CronJob;

export class ScheduleRows {
  readonly #db: DatabaseSync;
  readonly #lastFires = new Map<string, LastFire>();

  constructor(db: DatabaseSync) {
    this.#db = db;
    const rows = db.prepare("SELECT owner, name, last_fire FROM schedules WHERE last_fire IS NOT NULL").all();
    for (const { owner, name, last_fire } of rows as { owner: string; name: string; last_fire: string }[])
      this.#lastFires.set(scopeKey(owner, name), JSON.parse(last_fire) as LastFire);
  }

  all(): CronJob[] {
    return this.#db.prepare("SELECT job FROM schedules").all().map(jobOf);
  }

  find({ owner, name }: ScheduledService): CronJob | null {
    const row = this.#db.prepare("SELECT job FROM schedules WHERE owner = ? AND name = ?").get(owner, name);
    return row === undefined ? null : jobOf(row);
  }

  lastFire({ owner, name }: ScheduledService): LastFire | null {
    return this.#lastFires.get(scopeKey(owner, name)) ?? null;
  }

  /** Preserves the latest fire of a replaced schedule. */
  put(job: CronJob): void {
    this.#db
      .prepare(
        "INSERT INTO schedules (owner, name, job) VALUES (?, ?, ?) ON CONFLICT (owner, name) DO UPDATE SET job = excluded.job",
      )
      .run(job.owner, job.name, JSON.stringify(job));
  }

  /** Does nothing if the schedule no longer exists. */
  note({ owner, name }: ScheduledService, fire: LastFire): void {
    const { changes } = this.#db
      .prepare("UPDATE schedules SET last_fire = ? WHERE owner = ? AND name = ?")
      .run(JSON.stringify(fire), owner, name);
    if (changes > 0) this.#lastFires.set(scopeKey(owner, name), fire);
  }

  remove({ owner, name }: ScheduledService): void {
    this.#db.prepare("DELETE FROM schedules WHERE owner = ? AND name = ?").run(owner, name);
    this.#lastFires.delete(scopeKey(owner, name));
  }
}
