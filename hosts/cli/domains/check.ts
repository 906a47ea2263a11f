/** `portside domain check DOMAIN` */
import { clientFor } from "../client.ts";
import { type Command, clientOptions } from "../command.ts";
import { printJson } from "../terminal/io.ts";
import { printDomain, waitOption, waitUntilActive } from "./show.ts";

export const command: Command = {
  usage: "domain check DOMAIN [--wait] [--json]",
  options: { ...clientOptions, ...waitOption },
  positionals: { min: 2, max: 2 },
  examples: ["domain check app.example.com", "domain check app.example.com --wait"],
  notes: ["Exits with 0 if the domain is active, and with 1 otherwise."],
  run: async (input, io) => {
    const [, domain = ""] = input.positionals;
    const client = clientFor(input, io);
    const row = input.flag("wait")
      ? await waitUntilActive(io, client, domain)
      : await client.checkDomain({ domain }, { signal: io.signal });
    if (input.flag("json")) printJson(io, row);
    else await printDomain(io, row);
    return row.status === "active" ? 0 : 1;
  },
};
