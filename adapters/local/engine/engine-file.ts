/** Opens `engine.sqlite`, the engine's file in the data folder. The server's file is `state.sqlite`. */
import type { Logger } from "../../../core/ports/system.ts";
import { ReplaceableFile } from "../data-folder/replaceable-file.ts";

const schema = `
  CREATE TABLE IF NOT EXISTS last_fires (
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    -- The time at which the deployment was created. A deployment with the same name may be created later.
    created_at TEXT NOT NULL,
    -- As JSON.
    fire TEXT NOT NULL,
    PRIMARY KEY (owner, name)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS rollups (
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    -- The start of the minute, in seconds since 1970.
    minute INTEGER NOT NULL,
    rollup TEXT NOT NULL,
    PRIMARY KEY (owner, name, minute)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS rollups_by_minute ON rollups (minute);
  -- The milliseconds of each minute for which an engine observed its services.
  CREATE TABLE IF NOT EXISTS observed_minutes (minute INTEGER PRIMARY KEY, millis INTEGER NOT NULL) STRICT;
`;

export const ENGINE_FILE = "engine.sqlite";

export const openEngineFile = (dataDir: string, logger: Logger): ReplaceableFile =>
  new ReplaceableFile({
    dataDir,
    name: ENGINE_FILE,
    schema,
    whenReplaced: "set aside the engine's damaged file; the latest runs of schedules and the metrics are lost",
    logger,
  });
