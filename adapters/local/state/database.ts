/**
 * The local provider's state in one SQLite file: services, releases, ports, deploys, freed names, keys, settings,
 * volumes, schedules, secrets, domains, certificates and the accounts' users. Every change is one transaction that is
 * flushed to disk. If the server is killed during a change, the file contains the change completely or not at all.
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Unavailable } from "../../../core/errors.ts";
import type { Logger } from "../../../core/ports/system.ts";
import { errAsync, okAsync, type ResultAsync } from "../../../core/result.ts";
import { storeUnavailable } from "../../shared/runtime/disk-fault.ts";
import { DataFolderError, explainFileError } from "../data-folder/data-folder-error.ts";
import { makePrivateFile, openDataFolder } from "../data-folder/layout.ts";
import { setAside } from "../data-folder/set-aside.ts";
import { CHECK_FILE, resetCheck, writeCheck } from "./check-file.ts";
import { COPY_FILE, inspectDataFolder, STATE_FILE } from "./inspect.ts";
import { judgeState, knownGeneration, type StateVerdict } from "./judge-state.ts";
import { formatOf, intactVersion, type StateVersion, trackChanges, versionTable, writeVersion } from "./version.ts";

const schema = `
  CREATE TABLE services (
    name TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    etag TEXT NOT NULL,
    -- The number of the newest revision. Numbers are not reused.
    revisions INTEGER NOT NULL,
    serving_id TEXT,
    serving TEXT,
    rolling_id TEXT,
    rolling TEXT,
    attempted TEXT NOT NULL,
    -- 0 until the first rollout of the service has ended. Recovery removes such services.
    settled INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE ports (name TEXT PRIMARY KEY, port INTEGER NOT NULL) STRICT;
  CREATE TABLE deploys (
    deploy_id TEXT PRIMARY KEY,
    noted INTEGER NOT NULL,
    name TEXT NOT NULL,
    owner TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT,
    finished_at TEXT
  ) STRICT;
  CREATE TABLE freed (name TEXT PRIMARY KEY, owner TEXT NOT NULL, until TEXT NOT NULL) STRICT;
  CREATE TABLE keys (
    id TEXT PRIMARY KEY,
    account TEXT NOT NULL,
    label TEXT NOT NULL,
    prefix TEXT NOT NULL,
    hash TEXT NOT NULL,
    created_at TEXT NOT NULL,
    last_used_at TEXT
  ) STRICT;
  CREATE INDEX keys_prefix ON keys (prefix);
  CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
`;

const volumesAndSchedules = `
  CREATE TABLE volumes (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    created_at TEXT NOT NULL,
    -- 1 while a delete is in progress (beginDelete).
    hidden INTEGER NOT NULL,
    -- NULL for live volumes; the others are in the trash.
    deleted_at TEXT
  ) STRICT;
  CREATE UNIQUE INDEX volumes_living ON volumes (owner, name) WHERE deleted_at IS NULL;
  CREATE INDEX volumes_name ON volumes (name);
  CREATE TABLE schedules (
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    -- The job as JSON.
    job TEXT NOT NULL,
    PRIMARY KEY (owner, name)
  ) STRICT;
  UPDATE services SET
    serving = json_set(serving, '$.spec.cronToken', ''),
    rolling = json_set(rolling, '$.spec.cronToken', ''),
    attempted = json_set(attempted, '$.spec.cronToken', '');
`;

const accountUsers = `
  -- Rows are never deleted, because a number must never get a second owner.
  CREATE TABLE account_users (owner TEXT PRIMARY KEY, uid INTEGER NOT NULL UNIQUE) STRICT;
`;

const lastFires = `
  -- As JSON; NULL before the first fire.
  ALTER TABLE schedules ADD COLUMN last_fire TEXT;
`;

const releases = `
  -- Identifies the sequence of release numbers.
  ALTER TABLE services ADD COLUMN uid TEXT NOT NULL DEFAULT '';
  -- The number of the newest release. Numbers are not reused.
  ALTER TABLE services ADD COLUMN released INTEGER NOT NULL DEFAULT 0;
  -- NULL for names that were freed before the column existed.
  ALTER TABLE freed ADD COLUMN uid TEXT;
  ALTER TABLE freed ADD COLUMN released INTEGER NOT NULL DEFAULT 0;
  CREATE TABLE releases (
    name TEXT NOT NULL,
    release INTEGER NOT NULL,
    image TEXT NOT NULL,
    -- The release as JSON.
    document TEXT NOT NULL,
    PRIMARY KEY (name, release)
  ) STRICT;
  UPDATE services SET uid = lower(hex(randomblob(10))), released = serving IS NOT NULL;
  -- The revisions that serve become the first releases, so that the next deploy can be rolled back.
  INSERT INTO releases (name, release, image, document)
    SELECT name, 1, json_extract(serving, '$.spec.image'), json_object(
      'release', 1, 'uid', uid, 'revision', serving_id, 'createdAt', updated_at,
      'createdBy', json_object('kind', 'platform', 'id', '', 'label', ''),
      'message', NULL, 'sourceDigest', NULL, 'rolledBackTo', NULL, 'service', json(serving)
    )
    FROM services WHERE serving IS NOT NULL;
`;

const secrets = `
  CREATE TABLE secrets (
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    digest TEXT NOT NULL,
    created_at TEXT NOT NULL,
    -- The encrypted value, with its nonce and tag.
    sealed BLOB NOT NULL,
    PRIMARY KEY (owner, name, version)
  ) STRICT;
  -- The number of the newest version of each name. Rows are never deleted, because numbers are not reused.
  CREATE TABLE secret_numbers (
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    newest INTEGER NOT NULL,
    PRIMARY KEY (owner, name)
  ) STRICT;
`;

const domains = `
  CREATE TABLE domains (
    domain TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    status TEXT NOT NULL,
    detail TEXT NOT NULL,
    created_at TEXT NOT NULL,
    checked_at TEXT,
    etag TEXT NOT NULL
  ) STRICT;
  CREATE INDEX domains_owner ON domains (owner);
  -- One row for each host: custom domains, and the hosts of deployments.
  CREATE TABLE certificates (
    host TEXT PRIMARY KEY,
    -- The certificate in use: the chain in PEM, its encrypted key and its validity. NULL before the first one.
    chain TEXT,
    key BLOB,
    not_before TEXT,
    not_after TEXT,
    -- The authority that issued the certificate.
    authority TEXT,
    -- The renewal window that the authority suggests, as JSON.
    renewal TEXT,
    -- The encrypted key of the next certificate, and its order. NULL if there is none.
    next_key BLOB,
    next_order TEXT,
    next_authority TEXT,
    -- The consecutive failed attempts, the reason of the last one, and the time of the next one.
    failures INTEGER NOT NULL DEFAULT 0,
    reason TEXT,
    next_attempt_at TEXT
  ) STRICT;
  CREATE TABLE challenges (
    type TEXT NOT NULL,
    host TEXT NOT NULL,
    token TEXT NOT NULL,
    key_authorization TEXT NOT NULL,
    PRIMARY KEY (type, host, token)
  ) STRICT;
  CREATE TABLE certificate_orders (
    id INTEGER PRIMARY KEY,
    account TEXT NOT NULL,
    registered_domain TEXT NOT NULL,
    kind TEXT NOT NULL,
    at TEXT NOT NULL
  ) STRICT;
  -- The accounts at certificate authorities.
  CREATE TABLE authority_accounts (
    directory TEXT PRIMARY KEY,
    -- The encrypted keys.
    key BLOB NOT NULL,
    -- NULL until the authority has confirmed the account.
    url TEXT
  ) STRICT;
`;

const authorityRetries = `
  -- No attempt may begin earlier, because an authority requires it. NULL if none does.
  ALTER TABLE certificates ADD COLUMN authority_retry_at TEXT;
`;

const orderFailures = `
  -- Those of the failed attempts that asked an authority. Earlier formats did not count them separately.
  ALTER TABLE certificates ADD COLUMN order_failures INTEGER NOT NULL DEFAULT 0;
  UPDATE certificates SET order_failures = failures;
`;

const authorityDelays = `
  -- Until when each authority permits no attempt, as JSON. Earlier formats did not name the authority, but
  -- next_attempt_at includes its delay.
  ALTER TABLE certificates ADD COLUMN authority_delays TEXT NOT NULL DEFAULT '{}';
  ALTER TABLE certificates DROP COLUMN authority_retry_at;
`;

/** The entry at index N migrates the file from format N to format N + 1. */
const migrations = [
  ...[schema, volumesAndSchedules, versionTable, accountUsers, lastFires, releases, secrets, domains],
  ...[authorityRetries, orderFailures, authorityDelays],
];

/** Returns the result of `work`. Fails with `unavailable` if it throws, for example because the disk is full. */
export const guardState = <T>(work: () => T): ResultAsync<T, Unavailable> => {
  try {
    return okAsync(work());
  } catch (cause) {
    return errAsync(storeUnavailable("The platform's state cannot be read or written. Try again.", cause));
  }
};

/** Runs `work` as one transaction. Rolls the transaction back if `work` throws. */
export const transaction = <T>(db: DatabaseSync, work: () => T): T => {
  db.exec("BEGIN IMMEDIATE");
  try {
    const value = work();
    db.exec("COMMIT");
    return value;
  } catch (error) {
    // A full disk may have ended the transaction already.
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
};

const migrate = (db: DatabaseSync): void => {
  for (const [index, sql] of migrations.entries()) {
    if (index < formatOf(db)) continue;
    transaction(db, () => {
      // Another process may have migrated first.
      if (index < formatOf(db)) return;
      db.exec(sql);
      db.exec(`PRAGMA user_version = ${index + 1}`);
      if (index >= migrations.indexOf(versionTable)) writeVersion(db, (intactVersion(db)?.generation ?? 0) + 1);
    });
  }
};

/**
 * The open state. After each change, a microtask writes the check file, so code that awaits the change continues after
 * the write.
 */
export class StateDatabase extends DatabaseSync {
  readonly #checkPath: string;
  readonly #logger: Logger | undefined;
  #isScheduled = false;

  constructor(dataDir: string, logger?: Logger) {
    const path = join(dataDir, STATE_FILE);
    makePrivateFile(path);
    super(path, { timeout: 5000 });
    this.#checkPath = join(dataDir, CHECK_FILE);
    this.#logger = logger;
  }

  /** Updates the version with each change from now on. */
  track(): void {
    trackChanges(this, () => {
      if (this.#isScheduled) return;
      this.#isScheduled = true;
      queueMicrotask(() => this.#noteCheck());
    });
  }

  version(): StateVersion | undefined {
    return intactVersion(this);
  }

  override close(): void {
    this.#noteCheck();
    super.close();
  }

  override [Symbol.dispose](): void {
    if (this.isOpen) this.close();
  }

  /** Only logs a failure, because a state that is newer than the check file is valid. */
  #noteCheck(): void {
    if (!this.#isScheduled || !this.isOpen) return;
    this.#isScheduled = false;
    try {
      // The lock keeps another process from overwriting this version with an older one.
      transaction(this, () => {
        const version = this.version();
        if (version !== undefined) writeCheck(this.#checkPath, version);
      });
    } catch (cause) {
      this.#logger?.warn("could not write the check file of the state", { path: this.#checkPath, cause });
    }
  }
}

export interface OpenStateOptions {
  /**
   * Whether to accept a state that is missing, empty, older than the folder's other data, or changed by another
   * program.
   */
  readonly acceptState?: boolean | undefined;
  readonly logger?: Logger | undefined;
}

const refusal = (dataDir: string, { isDamaged, problem, isAcceptable }: StateVerdict & { kind: "refused" }) => {
  const path = join(dataDir, STATE_FILE);
  const accept = isAcceptable
    ? ` To use this state anyway, start with 'portside serve --accept-state', which moves unknown volumes to quarantine.`
    : "";
  const message = `${path} ${problem}. Nothing was changed. Run 'portside doctor --repair --data-dir ${dataDir}', or restore a backup with 'portside restore --force FILE --data-dir ${dataDir}'.${accept}`;
  return new DataFolderError(isDamaged ? "damaged" : "outdated", path, message);
};

/** Reads the folder without changing it. Throws a `DataFolderError` if this Portside cannot read the state. */
const inspect = (dataDir: string): ReturnType<typeof inspectDataFolder> => {
  const evidence = inspectDataFolder(dataDir);
  const path = join(dataDir, STATE_FILE);
  if (evidence.format <= migrations.length) return evidence;
  throw new DataFolderError(
    "newer_version",
    path,
    `The data folder has format ${evidence.format}, but this Portside reads formats up to ${migrations.length}. Start the newer Portside, or choose another folder with --data-dir. If no newer Portside has used the folder, ${path} is damaged: run 'portside doctor --repair --data-dir ${dataDir}'.`,
  );
};

/**
 * Opens the state of a data folder, and creates the state of a new folder. Other processes may have the state open too.
 * Throws a `DataFolderError`, and changes nothing, if the state is unusable, damaged or outdated.
 */
export const openState = (dataDir: string, { acceptState = false, logger }: OpenStateOptions = {}): StateDatabase => {
  openDataFolder(dataDir, logger);
  const [path, checkPath] = [join(dataDir, STATE_FILE), join(dataDir, CHECK_FILE)];
  const evidence = inspect(dataDir);
  const verdict = judgeState(evidence);
  const accepted = verdict.kind === "refused" && acceptState && verdict.isAcceptable;
  if (verdict.kind === "refused" && !accepted) throw refusal(dataDir, verdict);
  if (accepted) {
    // The next copy would overwrite the existing copy, which may be better than the accepted state.
    const kept = setAside(dataDir, [COPY_FILE, ...(evidence.state.kind === "missing" ? [`${STATE_FILE}-wal`] : [])]);
    logger?.warn("accepted a state with a problem", { path, problem: verdict.problem, kept });
  }
  if (verdict.kind === "good" && evidence.check.found === "damaged")
    logger?.warn("replaced the damaged check file of the state", { path: checkPath });
  try {
    using stack = new DisposableStack();
    const db = stack.use(new StateDatabase(dataDir, logger));
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
    migrate(db);
    transaction(db, () => {
      const newest = Math.max(knownGeneration(evidence), db.version()?.generation ?? 0);
      if (accepted) writeVersion(db, newest + 1);
      const version = db.version() as StateVersion;
      if (accepted || evidence.check.found !== "whole") resetCheck(checkPath, version);
      else writeCheck(checkPath, version);
    });
    db.track();
    stack.move();
    return db;
  } catch (error) {
    throw explainFileError(error, path) ?? error;
  }
};
