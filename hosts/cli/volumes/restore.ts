/** `portside volume restore NAME` */
import type { Volume } from "../../../core/domain/volumes/volume.ts";
import { findAccount } from "../accounts/account.ts";
import { Client } from "../client.ts";
import { type Command, clientOptions } from "../command.ts";
import { print, printJson } from "../terminal/io.ts";

export const restore: Command = {
  usage: "volume restore NAME [--id ID]",
  options: {
    ...clientOptions,
    id: { type: "string", value: "ID", description: "Which of that name; else the one that was deleted last." },
  },
  positionals: { min: 2, max: 2 },
  examples: ["volume restore shop-data"],
  notes: ["'portside volume ls --deleted' shows what can be restored, and until when."],
  run: async (input, io) => {
    const [, name] = input.positionals;
    const id = input.text("id");
    const client = new Client(findAccount(io, input.text("url")));
    const json = { name, ...(id === undefined ? {} : { id }) };
    const back = await client.call<Volume>("/v1/volume/restore", { json, signal: io.signal });
    if (input.flag("json")) printJson(io, back);
    else print(io, `The volume '${back.name}' is back, with all that was in it.`);
    return 0;
  },
};
