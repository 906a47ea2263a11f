/**
 * Records the input of each command that the adapter sends to a fake, for the judges (`judge.ts`). Tests also send
 * commands, some of them invalid on purpose; only those of the adapter count.
 */
import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { AwsClients } from "../../../../adapters/aws/clients.ts";
import { encodeRecord, type RecordedClient } from "./record.ts";

/** The folder to which each process adds a file of records; undefined: nothing is recorded. */
const folderOfRecords = (): string | undefined => process.env["PORTSIDE_AWS_REQUESTS"];

/** The maximum number of stack frames between `send` and the adapter's code. */
const FRAMES = 60;

/** Whether code of the adapter is among the callers. V8's traces contain the callers that await. */
const isAdapterCalling = (): boolean => {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = FRAMES;
  const { stack = "" } = new Error("trace");
  Error.stackTraceLimit = stackTraceLimit;
  return /(?<!\/test)\/adapters\/aws\//.test(stack);
};

const written = new Set<string>();

export const recordCommand = (client: RecordedClient, command: string, input: unknown): void => {
  const folder = folderOfRecords();
  if (folder === undefined || !isAdapterCalling()) return;
  const line = encodeRecord(client, command, input);
  if (written.has(line)) return;
  written.add(line);
  mkdirSync(folder, { recursive: true });
  appendFileSync(join(folder, `${process.pid}.jsonl`), `${line}\n`);
};

interface Args {
  readonly input: unknown;
}
type Next = (args: Args) => Promise<unknown>;

/** The part of an SDK client that the recorder uses. */
interface Recordable {
  readonly middlewareStack: {
    add(
      middleware: (next: Next, context: { readonly commandName?: string }) => Next,
      options: { readonly step: "initialize"; readonly priority: "high" },
    ): void;
  };
}

/** Returns the client after adding the recorder to it. Also records the commands that the client only signs. */
export const recorded = <C>(key: keyof AwsClients, client: C): C => {
  const add: Parameters<Recordable["middlewareStack"]["add"]>[0] =
    (next, { commandName = "" }) =>
    (args) => {
      recordCommand(key, commandName, args.input);
      return next(args);
    };
  if (folderOfRecords() !== undefined)
    (client as Recordable).middlewareStack.add(add, { step: "initialize", priority: "high" });
  return client;
};
