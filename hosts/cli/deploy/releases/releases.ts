/** `portside releases NAME` */
import { releaseLimits } from "../../../../core/domain/accounts/limits.ts";
import type { ReleaseRow } from "../../../../core/domain/deploy/releases/release.ts";
import { option } from "../../arguments.ts";
import { clientFor } from "../../client.ts";
import { type Command, clientOptions, printList } from "../../command.ts";
import { paint } from "../../terminal/colour.ts";
import { safeText } from "../../terminal/safe-text.ts";
import { ago } from "../../terminal/table.ts";

const colours = { serving: "green", replaced: "dim", pruned: "red" } as const;

const authorOf = ({ created_by: { kind, id, label } }: ReleaseRow): string => (label === "" ? `${kind} ${id}` : label);

const messageOf = ({ message, rolled_back_to }: ReleaseRow): string =>
  [rolled_back_to === null ? "" : `rollback to ${rolled_back_to}`, message ?? ""]
    .filter((part) => part !== "")
    .join(": ");

export const command: Command = {
  usage: "releases NAME [-n N] [--json]",
  options: {
    ...clientOptions,
    limit: option("N", `Show N releases (default: ${releaseLimits.page.default})`, { short: "n" }),
  },
  positionals: { min: 1, max: 1 },
  examples: ["releases hello"],
  notes: ["The newest release is first. A rollback can restore any release that has not been pruned."],
  run: async (input, io) => {
    const [name = ""] = input.positionals;
    // The platform validates the value.
    const limit = input.text("limit") as number | undefined;
    const { releases } = await clientFor(input, io).listReleases({ name, limit });
    return printList(input, io, releases, {
      head: ["RELEASE", "STATUS", "REVISION", "CREATED", "BY", "MESSAGE"],
      row: (one) => [
        String(one.release),
        paint(io, colours[one.status], one.status),
        one.revision,
        ago(one.created_at),
        safeText(io, authorOf(one)),
        safeText(io, messageOf(one)) || "-",
      ],
      empty: "No releases. Deploy first with 'portside deploy'.",
    });
  },
};
