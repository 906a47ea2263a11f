/** `portside doctor`: checks the provider's requirements, shows how to fix problems, and repairs a data folder. */

import type { Finding } from "../../../core/domain/wire/check.ts";
import { diagnosable, diagnose, findQuarantine, repair } from "../../composition/doctor.ts";
import type { ServeSettings } from "../../composition/settings.ts";
import { flag } from "../arguments.ts";
import { type Command, type Input, jsonOption, printResult, yesOption } from "../command.ts";
import { settingOptions, settingsFrom } from "../settings.ts";
import { paint } from "../terminal/colour.ts";
import { CommandError, confirm, type Io, print, printJson, UsageError } from "../terminal/io.ts";
import { safeText } from "../terminal/safe-text.ts";
import { pluralize } from "../volumes/transfer/format.ts";

const colours = { ok: "green", warning: "yellow", missing: "red" } as const;

const tell = (io: Io, { what, verdict, words, fix }: Finding): void => {
  print(io, `${paint(io, colours[verdict], verdict.padEnd(7))}  ${safeText(io, `${what}: ${words}`)}`);
  if (fix !== undefined && verdict !== "ok") print(io, `         ${paint(io, "bold", fix)}`);
};

const examine = async (input: Input, io: Io, settings: ServeSettings): Promise<number> => {
  let isMissing = false;
  for await (const finding of diagnose(settings, io.env)) {
    isMissing ||= finding.verdict === "missing";
    if (input.flag("json")) printJson(io, finding);
    else tell(io, finding);
  }
  return isMissing ? 1 : 0;
};

const purge = async (input: Input, io: Io, settings: ServeSettings): Promise<number> => {
  const { path, entries, bytes, purge: purgeAll } = await findQuarantine(settings);
  if (entries > 0) {
    const question = `Delete ${pluralize(entries, "volume folder")} (${bytes} bytes) from ${path}? This cannot be undone.`;
    await confirm(io, question, input.flag("yes"));
    await purgeAll();
  }
  return printResult(
    input,
    io,
    { deleted: entries, bytes },
    `Deleted ${pluralize(entries, "volume folder")} (${bytes} bytes).`,
  );
};

const mend =
  (how: "repair" | "rebuild") =>
  async (input: Input, io: Io, settings: ServeSettings): Promise<number> => {
    await repair(settings, how, (line) => {
      if (input.flag("json")) printJson(io, { message: line });
      else print(io, safeText(io, line));
    });
    return 0;
  };

const actions: Readonly<Record<string, (input: Input, io: Io, settings: ServeSettings) => Promise<number>>> = {
  repair: mend("repair"),
  rebuild: mend("rebuild"),
  "purge-quarantine": purge,
};

export const command: Command = {
  usage: `doctor [--provider ${diagnosable.join("|")}] [options]`,
  options: {
    ...jsonOption,
    repair: flag("Restore the newest intact copy of the state, and add all volumes on disk"),
    rebuild: flag("Create a new state from the volumes' records, if no copy of the state is readable"),
    "purge-quarantine": flag("Delete quarantined volume folders, which the state does not list"),
    ...yesOption,
    ...settingOptions,
  },
  examples: [
    "doctor",
    "doctor --repair --data-dir data",
    "doctor --provider gcp --gcp-project my-project --gcp-region europe-west1",
  ],
  notes: [
    "The exit code is 1 if a requirement is missing.",
    "Stop the server before --repair and --rebuild. Both move the replaced files to the folder 'set-aside'.",
  ],
  run: async (input, io) => {
    const settings = settingsFrom(input, io);
    const wanted = Object.keys(actions).filter((name) => input.flag(name));
    if (wanted.length > 1) throw new UsageError(`--${wanted.join(" and --")} cannot be combined. Choose one.`);
    const action = actions[wanted[0] ?? ""] ?? examine;
    try {
      return await action(input, io, settings);
    } catch (error) {
      if (error instanceof UsageError) throw error;
      throw new CommandError((error as Error).message, { cause: error });
    }
  },
};
