/** The commands' API client: `portside/client` with the selected account, and with next steps for a terminal. */
import { type Client, clientOn } from "../client/client.ts";
import { type NextSteps, nextSteps, PortsideError } from "../client/errors.ts";
import { createTransport } from "../client/transport.ts";
import { type Account, findAccount } from "./accounts/account.ts";
import type { Input } from "./command.ts";
import { CommandError, type Io } from "./terminal/io.ts";

/** The next step that an error message suggests, by the response's status. */
export const terminalSteps: NextSteps = { ...nextSteps, 401: "Check PORTSIDE_API_KEY, or run 'portside login'." };

/** Returns a client for an account. */
export const clientOf = ({ url, apiKey }: Account): Client =>
  clientOn(createTransport({ url, key: apiKey }, terminalSteps));

/** Returns a client for the platform and the key that the flags, variables and saved account select. */
export const clientFor = (input: Input, io: Io): Client => clientOf(findAccount(io, input.text("url")));

/** Returns whether the message of an error explains why the command failed. */
export const isExplained = (error: unknown): error is Error =>
  error instanceof CommandError || error instanceof PortsideError;
