/** `engine.sqlite` of a data folder: what the engine writes. The state, which the server writes, is in `state.sqlite`. */
import type { Logger } from "../../../core/ports/system.ts";
import { ReplaceableFile } from "../data-folder/replaceable-file.ts";

const schema = `
  CREATE TABLE IF NOT EXISTS last_fires (
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    -- When the deployment was created. One that is created again has another time.
    created_at TEXT NOT NULL,
    -- As JSON.
    fire TEXT NOT NULL,
    PRIMARY KEY (owner, name)
  ) STRICT, WITHOUT ROWID;
`;

export const openEngineFile = (dataDir: string, logger: Logger): ReplaceableFile =>
  new ReplaceableFile({
    dataDir,
    name: "engine.sqlite",
    schema,
    whenReplaced: "set aside the damaged file of the engine; the latest fires of schedules are lost",
    logger,
  });
