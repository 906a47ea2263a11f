/** Stores the local provider's own settings: ports, signing key and id. */
import type { DatabaseSync } from "node:sqlite";

export class SettingRows {
  readonly #db: DatabaseSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  get(name: string): string | undefined {
    return (this.#db.prepare("SELECT value FROM settings WHERE name = ?").get(name) as { value: string } | undefined)
      ?.value;
  }

  set(name: string, value: string): void {
    this.#db.prepare("INSERT OR REPLACE INTO settings (name, value) VALUES (?, ?)").run(name, value);
  }

  /** Returns a setting and creates it at first use. If two processes race, both get the first value. */
  async getOrCreate(name: string, make: () => Promise<string>): Promise<string> {
    const present = this.get(name);
    if (present !== undefined) return present;
    this.#db.prepare("INSERT OR IGNORE INTO settings (name, value) VALUES (?, ?)").run(name, await make());
    return this.get(name) as string;
  }

  /** Returns a service's loopback port. */
  port(service: string): number | undefined {
    return (this.#db.prepare("SELECT port FROM ports WHERE name = ?").get(service) as { port: number } | undefined)
      ?.port;
  }

  setPort(service: string, port: number): void {
    this.#db.prepare("INSERT OR REPLACE INTO ports (name, port) VALUES (?, ?)").run(service, port);
  }
}
