/** `portside login` */

import { ApiError } from "../../client/errors.ts";
import { clientOf } from "../client.ts";
import { type Command, urlOption } from "../command.ts";
import { CommandError, print, promptSecret } from "../terminal/io.ts";
import { findUrl, saveAccount } from "./account.ts";

export const command: Command = {
  usage: "login [--url URL]",
  options: urlOption,
  examples: ["login --url https://portside.example.com"],
  notes: [
    "Uses the key in PORTSIDE_API_KEY if it is set. Otherwise prompts for the key, or reads it from standard input.",
    "Checks the key, and saves it in a file that only you can read.",
  ],
  run: async (input, io) => {
    const url = findUrl(io, input.text("url"));
    const prompt = () =>
      promptSecret(io, `API key for ${url}: `, "Run 'portside login' again, and paste only the key.");
    const apiKey = io.env["PORTSIDE_API_KEY"] || (await prompt()).trim();
    if (apiKey === "")
      throw new CommandError("Missing API key. Create one with 'portside keys create --account NAME' on the server.");
    const { provider } = await clientOf({ url, apiKey })
      .capabilities()
      .catch((error: unknown) => {
        if (!(error instanceof ApiError && error.status === 401)) throw error;
        throw new CommandError(
          `The key is not valid for ${url}. Check the key and the URL, and run 'portside login' again.`,
        );
      });
    const path = saveAccount(io, { url, apiKey });
    print(io, `Logged in to ${url} (provider ${provider}). The key is saved in ${path}.`);
    return 0;
  },
};
