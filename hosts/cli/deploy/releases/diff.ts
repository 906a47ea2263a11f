/** `portside diff NAME [FROM] [TO]` */
import { formatValue } from "../../../../core/domain/deploy/plan.ts";
import type { ReleaseDiff } from "../../../../core/domain/deploy/releases/diff.ts";
import { clientFor } from "../../client.ts";
import { type Command, clientOptions, printResult } from "../../command.ts";

const changeLine = ({ field, change, from, to }: ReleaseDiff["changes"][number]): string =>
  field.startsWith("env.") ? `${field}: ${change}` : `${field}: ${formatValue(from)} → ${formatValue(to)}`;

const diffLines = ({ from, to, changes, source_changed }: ReleaseDiff): string[] => {
  const lines = [...(source_changed ? ["The source changed."] : []), ...changes.map(changeLine)];
  const head = `Release ${from} → ${to}`;
  return lines.length === 0 ? [`${head}: no differences`] : [head, ...lines.map((line) => `  ${line}`)];
};

export const command: Command = {
  usage: "diff NAME [FROM] [TO] [--json]",
  options: clientOptions,
  positionals: { min: 1, max: 3 },
  examples: ["diff hello", "diff hello 3 5"],
  notes: ["TO defaults to the newest release, and FROM to the release before TO."],
  run: async (input, io) => {
    const [name = "", from = "", to = ""] = input.positionals;
    // The platform validates the value.
    const request = { name, from: from as unknown as number, to: to as unknown as number };
    const diff = await clientFor(input, io).compareReleases(request);
    return printResult(input, io, diff, diffLines(diff).join("\n"));
  },
};
