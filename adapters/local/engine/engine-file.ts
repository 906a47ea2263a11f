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
`;

export const ENGINE_FILE = "engine.sqlite";

export const openEngineFile = (dataDir: string, logger: Logger): ReplaceableFile =>
  new ReplaceableFile({
    dataDir,
    name: ENGINE_FILE,
    schema,
    whenReplaced: "set aside the engine's damaged file; the latest fires of schedules are lost",
    logger,
  });
