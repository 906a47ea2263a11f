/** A client of CloudWatch Logs without a connection, for virtual clocks. */
import type { AwsClients } from "../../../../adapters/aws/clients.ts";
import { AwsError } from "../server.ts";
import type { createCloudWatchService } from "./service.ts";

interface Command {
  readonly constructor: { readonly name: string };
  readonly input: object;
}

/** @param delay resolves when the request has arrived */
export const inProcessClient = (
  { methods }: ReturnType<typeof createCloudWatchService>,
  delay: () => Promise<void>,
): AwsClients["logs"] => {
  const send = async (command: Command): Promise<object> => {
    await delay();
    const method = command.constructor.name.slice(0, -"Command".length) as keyof typeof methods;
    try {
      return methods[method](command.input);
    } catch (error) {
      // The SDK throws errors with the code as their name.
      throw error instanceof AwsError ? Object.assign(new Error(error.message), { name: error.code }) : error;
    }
  };
  return { send } as unknown as AwsClients["logs"];
};
