/** `portside secret list` */
import type { SecretRow } from "../../../core/domain/secrets/secret.ts";
import { clientFor } from "../client.ts";
import { type Command, clientOptions, printList } from "../command.ts";
import { ago } from "../terminal/table.ts";

const usesOf = ({ used_by }: SecretRow): string =>
  used_by.map(({ name, version }) => `${name} (version ${version})`).join(", ");

export const command: Command = {
  usage: "secret list [--json]",
  options: clientOptions,
  positionals: { min: 1, max: 1 },
  examples: ["secret list", "secret list --json"],
  notes: ["Shows names, versions and uses. The platform never returns a value."],
  run: async (input, io) => {
    const secrets = await clientFor(input, io).listSecrets();
    return printList(input, io, secrets, {
      head: ["NAME", "VERSIONS", "CHANGED", "USED BY"],
      row: (secret) => [
        secret.name,
        secret.versions.map(({ version }) => version).join(", "),
        ago(secret.versions[0]?.created_at ?? ""),
        usesOf(secret),
      ],
      empty: "You have no secrets. Create one with 'portside secret set NAME'.",
    });
  },
};
