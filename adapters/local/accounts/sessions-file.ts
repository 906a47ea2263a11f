/**
 * Stores sessions and sign-in links of the console in `sessions.sqlite`, which backups omit. If the file is lost, users
 * sign in again.
 */
import type { DatabaseSync } from "node:sqlite";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { Timestamp } from "../../../core/domain/wire/instant.ts";
import type { Logger } from "../../../core/ports/system.ts";
import {
  type LinkRecord,
  linkRecordOf,
  linkRowOf,
  type SessionRecord,
  type SessionRecords,
  sessionRecordOf,
  sessionRowOf,
} from "../../shared/accounts/session-record.ts";
import { ReplaceableFile } from "../data-folder/replaceable-file.ts";
import { insert } from "../state/sql.ts";

const schema = `
  -- A power cut must not bring back a session that was revoked, or a link that was used.
  PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS sessions (
    id TEXT PRIMARY KEY,
    account TEXT NOT NULL,
    credential_kind TEXT NOT NULL,
    credential_id TEXT NOT NULL,
    key_id TEXT,
    cookie_hash TEXT NOT NULL UNIQUE,
    token_hash TEXT NOT NULL,
    created_at TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    last_seen_at TEXT
  ) STRICT;
  CREATE INDEX IF NOT EXISTS sessions_account ON sessions (account, created_at, id);
  CREATE TABLE IF NOT EXISTS links (
    hash TEXT PRIMARY KEY,
    account TEXT NOT NULL,
    credential_kind TEXT NOT NULL,
    credential_id TEXT NOT NULL,
    key_id TEXT,
    credential_expires_at TEXT,
    expires_at TEXT NOT NULL
  ) STRICT;
`;

const SESSIONS_FILE = "sessions.sqlite";

export class SessionsFile implements SessionRecords {
  readonly #dataDir: string;
  readonly #logger: Logger;
  #file: ReplaceableFile | undefined;

  constructor(dataDir: string, logger: Logger) {
    this.#dataDir = dataDir;
    this.#logger = logger;
  }

  /** Opens the file on first use, because most commands that read the keys need no sessions. */
  #use<T>(work: (db: DatabaseSync) => T): T {
    this.#file ??= new ReplaceableFile({
      dataDir: this.#dataDir,
      name: SESSIONS_FILE,
      schema,
      whenReplaced: "set aside the console's damaged session file; all users must sign in again",
      logger: this.#logger,
    });
    return this.#file.use(work);
  }

  async insert(record: SessionRecord): Promise<void> {
    this.#use((db) => insert(db, "INSERT INTO sessions", { ...sessionRowOf(record) }));
  }

  async withCookie(cookieHash: string): Promise<SessionRecord | undefined> {
    const row = this.#use((db) => db.prepare("SELECT * FROM sessions WHERE cookie_hash = ?").get(cookieHash));
    return row === undefined ? undefined : sessionRecordOf(row);
  }

  async find(account: AccountId, id: string): Promise<SessionRecord | undefined> {
    const sql = "SELECT * FROM sessions WHERE account = ? AND id = ?";
    const row = this.#use((db) => db.prepare(sql).get(account, id));
    return row === undefined ? undefined : sessionRecordOf(row);
  }

  async ofAccount(account: AccountId): Promise<readonly SessionRecord[]> {
    const sql = "SELECT * FROM sessions WHERE account = ? ORDER BY created_at, id";
    return this.#use((db) => db.prepare(sql).all(account).map(sessionRecordOf));
  }

  async remove(account: AccountId, id: string): Promise<boolean> {
    const sql = "DELETE FROM sessions WHERE account = ? AND id = ?";
    return this.#use((db) => db.prepare(sql).run(account, id).changes === 1);
  }

  async seen(id: string, at: Timestamp): Promise<void> {
    this.#use((db) => db.prepare("UPDATE sessions SET last_seen_at = ? WHERE id = ?").run(at, id));
  }

  async insertLink(record: LinkRecord): Promise<void> {
    this.#use((db) => insert(db, "INSERT INTO links", { ...linkRowOf(record) }));
  }

  async takeLink(hash: string): Promise<LinkRecord | undefined> {
    const row = this.#use((db) => db.prepare("DELETE FROM links WHERE hash = ? RETURNING *").get(hash));
    return row === undefined ? undefined : linkRecordOf(row);
  }

  async removeExpired(now: Timestamp): Promise<void> {
    this.#use((db) => {
      db.prepare("DELETE FROM sessions WHERE expires_at <= ?").run(now);
      db.prepare("DELETE FROM links WHERE expires_at <= ?").run(now);
    });
  }

  close(): void {
    this.#file?.close();
  }
}
