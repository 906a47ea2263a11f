/** Options, progress and errors shared by `portside backup` and `portside restore`. */
import { resolve } from "node:path";
import { isExplained, type Transfer } from "../../composition/backup.ts";
import { type ServeSettings, SettingsError } from "../../composition/settings.ts";
import type { Options } from "../arguments.ts";
import { type Input, jsonOption } from "../command.ts";
import { dataFolderOptions, settingsFrom } from "../settings.ts";
import { CommandError, type Io } from "../terminal/io.ts";
import { pluralize } from "../volumes/transfer/format.ts";
import { ProgressBar } from "../volumes/transfer/progress-bar.ts";

export const backupOptions: Options = {
  ...jsonOption,
  ...dataFolderOptions(),
};

/** The delay before the progress bar appears. */
const QUIET_MS = 1000;

type Counted = "deployments" | "volumes" | "objects";

/** Formats a backup's content. */
export const formatContent = ({ deployments, volumes, objects }: Readonly<Record<Counted, number>>): string =>
  [pluralize(deployments, "deployment"), pluralize(volumes, "volume"), pluralize(objects, "object")].join(", ");

/**
 * Runs the backup or restore on the named file.
 * @param total the number of bytes, if known
 */
export const transfer = async <T>(
  input: Input,
  io: Io,
  run: (settings: ServeSettings, transfer: Transfer) => Promise<T>,
  total?: number,
): Promise<T> => {
  const file = resolve(io.cwd, input.positionals[0] as string);
  using bar = new ProgressBar(io, input.positionals[0] as string, total);
  const begun = performance.now();
  let waiting = 0;
  const onProgress = (bytes: number) => {
    waiting += bytes;
    if (performance.now() - begun < QUIET_MS) return;
    bar.move(waiting);
    waiting = 0;
  };
  try {
    return await run(settingsFrom(input, io), {
      file,
      replace: input.flag("force"),
      withSecretsKey: input.flag("with-secrets-key"),
      signal: io.signal,
      onProgress,
    });
  } catch (error) {
    if (error instanceof SettingsError || (await isExplained(error)))
      throw new CommandError((error as Error).message, { cause: error });
    throw error;
  }
};
