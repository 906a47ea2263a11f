/** `portside cron run NAME` */
import { normalizeDeploymentName } from "../../../core/domain/wire/names.ts";
import { clientFor } from "../client.ts";
import { type Command, clientOptions, printResult } from "../command.ts";
import { UsageError } from "../terminal/io.ts";

export const command: Command = {
  usage: "cron run NAME",
  options: clientOptions,
  positionals: { min: 2, max: 2 },
  choices: ["run"],
  examples: ["cron run hello"],
  notes: [
    "Calls the service as its schedule does, and does not wait for the outcome. 'portside status NAME' shows the outcome.",
  ],
  run: async (input, io) => {
    const [word = "", name = ""] = input.positionals;
    if (word !== "run") throw new UsageError(`Unknown subcommand 'cron ${word}'. Use run.`);
    const fire = await clientFor(input, io).fireSchedule({ name });
    const own = normalizeDeploymentName(name);
    return printResult(
      input,
      io,
      fire,
      `Started run ${fire.fire_id} of the schedule. Run 'portside status ${own}' to see the outcome.`,
    );
  },
};
