/** `portside domain list` */
import { clientFor } from "../client.ts";
import { type Command, clientOptions, printList } from "../command.ts";
import { ago } from "../terminal/table.ts";
import { formatStatus } from "./show.ts";

export const command: Command = {
  usage: "domain list [--json]",
  options: clientOptions,
  positionals: { min: 1, max: 1 },
  examples: ["domain list", "domain list --json"],
  notes: [
    "Shows the results of the last checks, and the dates on which certificates expire.",
    "With --json, also shows the DNS records.",
  ],
  run: async (input, io) => {
    const domains = await clientFor(input, io).listDomains({ signal: io.signal });
    return printList(input, io, domains, {
      head: ["DOMAIN", "DEPLOYMENT", "STATUS", "CHECKED", "CERTIFICATE UNTIL", "DETAIL"],
      row: (row) => [
        row.domain,
        row.name,
        formatStatus(io, row),
        row.checked_at === null ? "-" : ago(row.checked_at),
        row.certificate === null ? "-" : row.certificate.not_after.slice(0, 10),
        row.detail,
      ],
      empty: "You have no domains. Add one with 'portside domain add DOMAIN NAME'.",
    });
  },
};
