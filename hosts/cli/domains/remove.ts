/** `portside domain remove DOMAIN` */
import { clientFor } from "../client.ts";
import { type Command, clientOptions, printResult, yesOption } from "../command.ts";
import { confirm } from "../terminal/io.ts";

export const command: Command = {
  usage: "domain remove DOMAIN [-y]",
  options: { ...clientOptions, ...yesOption },
  positionals: { min: 2, max: 2 },
  examples: ["domain remove app.example.com"],
  run: async (input, io) => {
    const [, domain = ""] = input.positionals;
    const client = clientFor(input, io);
    await confirm(
      io,
      `Remove the domain '${domain}'? Its requests will no longer reach the deployment.`,
      input.flag("yes"),
    );
    const answer = await client.removeDomain({ domain }, { signal: io.signal });
    return printResult(input, io, answer, answer.detail);
  },
};
