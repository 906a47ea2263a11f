/** `portside env set|unset|list NAME` */
import { clientFor } from "../../client.ts";
import { type Command, clientOptions, type Input, printList } from "../../command.ts";
import { type Io, UsageError } from "../../terminal/io.ts";
import { followRecords } from "../follow.ts";
import { readVariable } from "../project.ts";

const change = async (input: Input, io: Io, name: string, changed: object): Promise<number> => {
  const client = clientFor(input, io);
  const records = await client.setEnvironment({ name, ...changed }, { signal: io.signal });
  return followRecords(io, records, input.flag("json"), name);
};

const atLeastOne = (variables: readonly string[], usage: string): readonly string[] => {
  if (variables.length === 0) throw new UsageError(`Missing variable. Usage: portside ${usage}`);
  return variables;
};

const set: Action = (input, io, name, variables) => {
  const pairs = atLeastOne(variables, "env set NAME KEY=VALUE...").map((text) => readVariable(text, "env set"));
  return change(input, io, name, { set: Object.fromEntries(pairs) });
};

const unset: Action = (input, io, name, variables) =>
  change(input, io, name, { unset: atLeastOne(variables, "env unset NAME KEY...") });

const list: Action = async (input, io, name, variables) => {
  if (variables.length > 0)
    throw new UsageError(`Unexpected argument '${variables[0]}'. Usage: portside env list NAME`);
  const { releases } = await clientFor(input, io).listReleases({ name, limit: 1 });
  const rows = Object.entries(releases[0]?.declaration.env ?? {}).map(([key, digest]) => ({ name: key, digest }));
  return printList(input, io, rows, {
    head: ["NAME", "DIGEST"],
    row: ({ name: key, digest }) => [key, digest],
    empty: `No variables. Set one with 'portside env set ${name} KEY=VALUE'.`,
  });
};

type Action = (input: Input, io: Io, name: string, variables: readonly string[]) => Promise<number>;

const actions: Readonly<Record<string, Action>> = { set, unset, list, ls: list };

export const command: Command = {
  usage: "env set NAME KEY=VALUE... | unset NAME KEY... | list NAME",
  options: clientOptions,
  positionals: { min: 2, max: Number.POSITIVE_INFINITY },
  choices: ["set", "unset", "list"],
  examples: ["env set hello GREETING=hi LOG_LEVEL=debug", "env unset hello GREETING", "env list hello"],
  notes: [
    "A change redeploys the serving release without a build. The next 'portside deploy' replaces the variables if",
    "portside.json or a flag declares any. The list shows a digest of each value or its reference to a secret, because",
    "the platform never returns values.",
  ],
  run: (input, io) => {
    const [word = "", name = "", ...variables] = input.positionals;
    const action = Object.hasOwn(actions, word) ? actions[word] : undefined;
    if (action === undefined) throw new UsageError(`Unknown subcommand 'env ${word}'. Use set, unset or list.`);
    return action(input, io, name, variables);
  },
};
