/** `portside secret set NAME` */
import { buffer } from "node:stream/consumers";
import type { SetSecretResponse } from "../../../core/domain/secrets/secret.ts";
import type { Client } from "../../client/client.ts";
import { flag } from "../arguments.ts";
import { clientFor } from "../client.ts";
import { type Command, clientOptions, printResult } from "../command.ts";
import { followRecords } from "../deploy/follow.ts";
import { decodeInput, type Io, print, promptSecret } from "../terminal/io.ts";

/** Prompts on a terminal. Otherwise reads standard input to its end, and removes one trailing newline. */
const readValue = async (io: Io, name: string): Promise<string> => {
  if (io.stdin.isTTY !== true) return decodeInput(await buffer(io.stdin)).replace(/\r?\n$/, "");
  const instead = `For a multi-line value, run 'portside secret set ${name} < FILE'.`;
  return promptSecret(io, `Value of '${name}': `, instead);
};

/** Prints the records of the redeploys. Returns the exit code. */
const followAll = async (io: Io, client: Client, deploys: SetSecretResponse["deploys"]): Promise<number> => {
  let code = 0;
  for (const { name, deploy_id } of deploys) {
    print(io, `\nRedeploying '${name}'`);
    const records = client.followDeploy({ deploy_id }, { signal: io.signal });
    code = Math.max(code, await followRecords(io, records, false, name));
  }
  return code;
};

export const command: Command = {
  usage: "secret set NAME [--stage] [--json]",
  options: {
    ...clientOptions,
    stage: flag("Store the value without redeploying; the next deploy uses it"),
  },
  positionals: { min: 2, max: 2 },
  examples: ["secret set STRIPE_KEY", "secret set TLS_KEY --stage"],
  notes: [
    "Prompts for one line without echo. Without a terminal, reads standard input and removes one trailing newline.",
    "Redeploys the deployments that use the secret without a fixed version. With --json, does not wait for them.",
  ],
  run: async (input, io) => {
    const [, name = ""] = input.positionals;
    const value = await readValue(io, name);
    const client = clientFor(input, io);
    const request = { name, value, redeploy: !input.flag("stage") };
    const answer = await client.setSecret(request, { signal: io.signal });
    printResult(input, io, answer, `Stored version ${answer.version} of '${answer.name}'.`);
    return input.flag("json") ? 0 : followAll(io, client, answer.deploys);
  },
};
