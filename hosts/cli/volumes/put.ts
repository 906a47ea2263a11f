/** `portside volume put VOLUME SOURCE [PATH]` */
import { findAccount } from "../accounts/account.ts";
import { Client } from "../client.ts";
import { type Command, clientOptions, type Input } from "../command.ts";
import { type Io, print, printJson, say } from "../terminal/io.ts";
import { atOnce } from "./transfer/at-once.ts";
import { Bar } from "./transfer/bar.ts";
import { keepSource, wantsLengths } from "./transfer/known-length.ts";
import { folderWords } from "./transfer/objects.ts";
import { counted, sizeWords } from "./transfer/size.ts";
import { type Sending, type Sendings, sendingsOf } from "./transfer/sources.ts";
import { type Place, type Source, uploadObject } from "./transfer/upload.ts";

const totalOf = (sendings: readonly Sending[]): number | undefined => {
  const sizes = sendings.map(({ source }) => source.size);
  return sizes.some((size) => size === undefined)
    ? undefined
    : sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
};

/** What has no size is kept first where the platform wants one; the bar says so, and then begins anew. */
const uploadAs = async (client: Client, place: Place, source: Source, signal: AbortSignal, bar: Bar) => {
  const onSent = (moved: number) => bar.move(moved);
  if (source.size !== undefined || !(await wantsLengths(client, signal)))
    return uploadObject(client, place, source, signal, onSent);
  bar.rename(`reading ${source.name}`);
  await using kept = await keepSource(source, { signal, onKept: onSent });
  const { size } = kept.source;
  bar.end();
  bar.rename(source.name);
  bar.expect(size);
  bar.move(-size);
  // What was kept is gone once this returns.
  return await uploadObject(client, place, kept.source, signal, onSent);
};

/** An interrupted upload stores nothing of its object, and a later `put` cannot resume it. */
const interruptedWords = (volume: string, { sendings, prefix }: Sendings, done: number): string =>
  prefix === undefined
    ? `Interrupted: '${sendings[0]?.path}' was not complete, so '${volume}' keeps what it had. The next put sends it from the start.`
    : `Interrupted: ${done} of ${counted(sendings.length, "file")} are in ${folderWords(volume, prefix)}. The next put sends all of them again.`;

const sendAll = async (client: Client, input: Input, io: Io, volume: string, all: Sendings) => {
  const { sendings, prefix } = all;
  const count = sendings.length;
  const nameAt = (done: number) =>
    prefix === undefined ? (sendings[0]?.source.name ?? "") : `${done} of ${counted(count, "file")}`;
  const bar = new Bar(io, nameAt(0), totalOf(sendings));
  let bytes = 0;
  let done = 0;
  try {
    await atOnce(sendings, io.signal, async ({ path, source }, signal) => {
      const size = await uploadAs(client, { volume, path }, source, signal, bar);
      bytes += size;
      bar.rename(nameAt(++done));
      if (!input.flag("json")) return;
      bar.end();
      printJson(io, { volume, path, size });
    });
  } catch (error) {
    bar.end();
    if (io.signal.aborted && done < count) say(io, interruptedWords(volume, all, done));
    throw error;
  } finally {
    bar.end();
  }
  return bytes;
};

export const put: Command = {
  usage: "volume put VOLUME SOURCE [PATH] [-r]",
  options: {
    ...clientOptions,
    recursive: { type: "boolean", short: "r", description: "Send a folder, four files at once." },
  },
  positionals: { min: 3, max: 4 },
  examples: ["volume put shop-data figures.csv reports/", "volume put -r shop-data site www"],
  notes: [
    "SOURCE is a file, a folder with -r, or - for standard input. PATH is the object's path, else the source's name.",
    "A file goes into a PATH that ends with '/'; what is in a folder goes below PATH, '/' being the volume itself.",
  ],
  run: async (input, io) => {
    const [, volume = "", given = "", wanted] = input.positionals;
    const client = new Client(findAccount(io, input.text("url")));
    const all = await sendingsOf(io, given, wanted, input.flag("recursive"));
    const size = sizeWords(await sendAll(client, input, io, volume, all));
    if (input.flag("json")) return 0;
    const { sendings, prefix } = all;
    const what = prefix === undefined ? `'${sendings[0]?.path}'` : counted(sendings.length, "file");
    print(io, `Sent ${what}, ${size}, to ${folderWords(volume, prefix ?? "")}.`);
    return 0;
  },
};
