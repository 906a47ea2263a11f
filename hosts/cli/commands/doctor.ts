/** `portside doctor`: what the provider needs, what of it is there, and the command that mends each lack. */

import type { Finding } from "../../../core/domain/finding.ts";
import { diagnose } from "../../composition/doctor.ts";
import { paint } from "../colour.ts";
import { type Command, jsonOption } from "../command.ts";
import { CommandError, type Io, print, printJson } from "../io.ts";
import { safeText } from "../safe-text.ts";
import { settingOptions, settingsFrom } from "../settings.ts";

const colours = { ok: "green", warning: "yellow", missing: "red" } as const;

const tell = (io: Io, { what, verdict, words, fix }: Finding): void => {
  print(io, `${paint(io, colours[verdict], verdict.padEnd(7))}  ${safeText(io, `${what}: ${words}`)}`);
  if (fix !== undefined && verdict !== "ok") print(io, `         ${paint(io, "bold", fix)}`);
};

export const doctor: Command = {
  usage: "doctor [--provider local|gcp|aws] [options]",
  options: { ...jsonOption, ...settingOptions },
  positionals: { min: 0, max: 0 },
  examples: ["doctor", "doctor --provider gcp --gcp-project my-project --gcp-region europe-west1"],
  notes: ["Exit code 1 where something is missing without which the platform cannot work."],
  run: async (input, io) => {
    const settings = settingsFrom(input, io);
    let isMissing = false;
    try {
      for await (const finding of diagnose(settings, io.env)) {
        isMissing ||= finding.verdict === "missing";
        if (input.flag("json")) printJson(io, finding);
        else tell(io, finding);
      }
    } catch (error) {
      throw new CommandError((error as Error).message, { cause: error });
    }
    return isMissing ? 1 : 0;
  },
};
