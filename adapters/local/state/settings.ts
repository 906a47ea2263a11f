/** Stores the local provider's own settings: ports, signing key and id. */
import type { DatabaseSync } from "node:sqlite";
import { insert, selectFirst } from "./sql.ts";

export class SettingRows {
  readonly #db: DatabaseSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  get(name: string): string | undefined {
    return selectFirst<{ value: string }>(this.#db, "SELECT value FROM settings WHERE name = ?", name)?.value;
  }

  set(name: string, value: string): void {
    insert(this.#db, "INSERT OR REPLACE INTO settings", { name, value });
  }

  /** Returns a setting and creates it on first use. If two processes race, both get the first value. */
  async getOrCreate(name: string, make: () => Promise<string>): Promise<string> {
    const present = this.get(name);
    if (present !== undefined) return present;
    insert(this.#db, "INSERT OR IGNORE INTO settings", { name, value: await make() });
    return this.get(name) as string;
  }

  /** Returns a service's loopback port. */
  port(service: string): number | undefined {
    return selectFirst<{ port: number }>(this.#db, "SELECT port FROM ports WHERE name = ?", service)?.port;
  }

  setPort(service: string, port: number): void {
    insert(this.#db, "INSERT OR REPLACE INTO ports", { name: service, port });
  }
}
