/** `portside domain add DOMAIN NAME` */
import { clientFor } from "../client.ts";
import { type Command, clientOptions } from "../command.ts";
import { print, printJson } from "../terminal/io.ts";
import { printDomain, waitOption, waitUntilActive } from "./show.ts";

export const command: Command = {
  usage: "domain add DOMAIN NAME [--wait] [--json]",
  options: { ...clientOptions, ...waitOption },
  positionals: { min: 3, max: 3 },
  examples: ["domain add app.example.com my-app", "domain add app.example.com my-app --wait"],
  notes: [
    "Prints the DNS records to create at your DNS provider.",
    "If the domain belongs to another of your deployments, moves it to NAME.",
    "After you create the records, run 'portside domain check DOMAIN'.",
  ],
  run: async (input, io) => {
    const [, domain = "", name = ""] = input.positionals;
    const client = clientFor(input, io);
    const added = await client.addDomain({ domain, name }, { signal: io.signal });
    const isWaiting = input.flag("wait") && added.status !== "active";
    if (!input.flag("json")) await printDomain(io, added);
    const row = isWaiting ? await waitUntilActive(io, client, added.domain) : added;
    if (input.flag("json")) printJson(io, row);
    else if (isWaiting) print(io, `\n${row.detail}`);
    else if (row.status !== "active")
      print(io, `\nCreate the records, then run 'portside domain check ${row.domain} --wait'.`);
    return 0;
  },
};
