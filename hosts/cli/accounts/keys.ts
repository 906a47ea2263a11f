/** `portside keys create|list|revoke` */

import { isKeyAccount, parseAccount } from "../../../core/domain/accounts/account.ts";
import { option } from "../arguments.ts";
import { clientFor } from "../client.ts";
import { type Command, clientOptions, type Input, printList, printResult } from "../command.ts";
import { warn } from "../terminal/colour.ts";
import { cannotStart, type Io, say, UsageError } from "../terminal/io.ts";
import { ago } from "../terminal/table.ts";

const printKey = (input: Input, io: Io, { id, key }: { id: string; key: string }, extra: object): number => {
  printResult(input, io, { ...extra, id, key }, key);
  if (!input.flag("json"))
    say(io, `Store the key '${id}' now: it is not shown again. Use it as PORTSIDE_API_KEY or with 'portside login'.`);
  return 0;
};

/** Creates a key for an account directly in the server's key store. The server may be running. */
const createInFolder = async (input: Input, io: Io, name: string): Promise<number> => {
  const account = parseAccount(name);
  if (account === undefined || !isKeyAccount(account))
    throw new UsageError(
      `'${name}' is not a valid account name. Use letters, digits and . _ - @ / + |, starting with a letter or digit.`,
    );
  const { createKeyInFolder } = await import("../../composition/accounts/bootstrap.ts");
  const flags = { dataDir: input.text("data-dir") };
  const label = input.text("label") ?? "created on the server";
  const made = await createKeyInFolder(flags, io.env, account, label).catch(cannotStart);
  if (made.warning !== undefined) warn(io, made.warning);
  if (made.folder !== undefined && !input.flag("json"))
    say(
      io,
      `Only a server with the data folder '${made.folder}' accepts the key. Select a different folder with --data-dir.`,
    );
  return printKey(input, io, made, { account });
};

const create = async (input: Input, io: Io): Promise<number> => {
  const name = input.text("account");
  if (name !== undefined) return createInFolder(input, io, name);
  const label = input.text("label") ?? "created by portside keys create";
  const made = await clientFor(input, io).createKey({ label });
  return printKey(input, io, made, { prefix: made.prefix });
};

const list = async (input: Input, io: Io): Promise<number> => {
  const found = await clientFor(input, io).listKeys();
  return printList(input, io, found, {
    head: ["ID", "KEY", "LABEL", "CREATED", "LAST USED"],
    row: ({ id, prefix, label, created_at, last_used_at }) => [
      id,
      `${prefix}…`,
      label,
      ago(created_at),
      last_used_at === null ? "never" : ago(last_used_at),
    ],
  });
};

const revoke = async (input: Input, io: Io): Promise<number> => {
  const id = input.positionals[1];
  if (id === undefined)
    throw new UsageError("Missing ID. Usage: portside keys revoke ID. 'portside keys list' shows the IDs.");
  const answer = await clientFor(input, io).revokeKey({ id });
  return printResult(input, io, answer, answer.detail);
};

const actions: Readonly<Record<string, Command["run"]>> = { create, list, ls: list, revoke };

export const command: Command = {
  usage: "keys create [--account NAME] | list | revoke ID",
  options: {
    ...clientOptions,
    account: option("NAME", "Create a key for the account NAME directly in the server's key store"),
    label: option("TEXT", "Describe the purpose of the key"),
    "data-dir": option("DIR", "Set the server's data folder (with --account)"),
  },
  positionals: { min: 1, max: 2 },
  choices: ["create", "list", "revoke"],
  examples: ["keys create --account ann", "keys create --label laptop", "keys list"],
  run: (input, io) => {
    const [word = ""] = input.positionals;
    const action = actions[word];
    if (action === undefined) throw new UsageError(`Unknown subcommand 'keys ${word}'. Use create, list or revoke.`);
    return action(input, io);
  },
};
