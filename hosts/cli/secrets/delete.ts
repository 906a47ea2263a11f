/** `portside secret delete NAME` */
import { option } from "../arguments.ts";
import { clientFor } from "../client.ts";
import { type Command, clientOptions, printResult, yesOption } from "../command.ts";
import { confirm } from "../terminal/io.ts";

export const command: Command = {
  usage: "secret delete NAME [--version N] [-y]",
  options: {
    ...clientOptions,
    ...yesOption,
    version: option("N", "Delete only this version"),
  },
  positionals: { min: 2, max: 2 },
  examples: ["secret delete STRIPE_KEY", "secret delete STRIPE_KEY --version 2"],
  notes: ["A deleted value cannot be restored. A secret or version that a deployment uses cannot be deleted."],
  run: async (input, io) => {
    const [, name = ""] = input.positionals;
    // The platform validates the value.
    const version = (input.text("version") ?? null) as number | null;
    const client = clientFor(input, io);
    const what = version === null ? `the secret '${name}'` : `version ${version} of the secret '${name}'`;
    await confirm(io, `Delete ${what}? The value cannot be restored.`, input.flag("yes"));
    const answer = await client.deleteSecret({ name, version }, { signal: io.signal });
    return printResult(input, io, answer, answer.detail);
  },
};
