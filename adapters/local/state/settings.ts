/** Stores the local provider's own settings, such as its ports, its keys and its scope. */
import type { DatabaseSync } from "node:sqlite";
import { insert, selectAll, selectFirst } from "./sql.ts";

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

  /** Returns functions that read and write one setting. */
  named(name: string) {
    return { get: () => this.get(name), set: (value: string) => this.set(name, value) };
  }

  /**
   * Returns a setting, and creates it if it is missing. If two processes create it concurrently, both get the same
   * value.
   */
  async getOrCreate(name: string, make: () => Promise<string>): Promise<string> {
    const present = this.get(name);
    if (present !== undefined) return present;
    insert(this.#db, "INSERT OR IGNORE INTO settings", { name, value: await make() });
    return this.get(name) as string;
  }

  /** Stores the services' own ports, so that they stay the same after a restart. */
  keepPorts(ports: Readonly<Record<string, number>>): void {
    const stored = selectAll<{ name: string; port: number }>(this.#db, "SELECT name, port FROM ports");
    const known = new Map(stored.map(({ name, port }) => [name, port]));
    for (const [name, port] of Object.entries(ports))
      if (known.get(name) !== port) insert(this.#db, "INSERT OR REPLACE INTO ports", { name, port });
  }
}
