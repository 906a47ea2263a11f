/** Stores the local provider's own settings, such as its ports, its keys and its scope. */
import type { DatabaseSync } from "node:sqlite";
import { insert, selectAll, selectFirst } from "./sql.ts";

/** A service with a different port than before. */
interface MovedService {
  readonly name: string;
  readonly previous: number;
  readonly port: number;
}

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

  /**
   * Stores the services' own ports, so that they stay the same after a restart. Returns the services whose stored port
   * was a different one.
   */
  keepPorts(ports: Readonly<Record<string, number>>): readonly MovedService[] {
    const stored = selectAll<{ name: string; port: number }>(this.#db, "SELECT name, port FROM ports");
    const known = new Map(stored.map(({ name, port }) => [name, port]));
    const moved: MovedService[] = [];
    for (const [name, port] of Object.entries(ports)) {
      const previous = known.get(name);
      if (previous === port) continue;
      insert(this.#db, "INSERT OR REPLACE INTO ports", { name, port });
      if (previous !== undefined) moved.push({ name, previous, port });
    }
    return moved;
  }
}
