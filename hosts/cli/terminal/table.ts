/** Prints rows as a table on a terminal. In a pipe, prints tab-separated text without the head. */
import { wantsColour } from "./colour.ts";
import { type Io, print } from "./io.ts";

/** The names that cli-table3 uses for the lines around and between cells. */
const LINES =
  "top top-mid top-left top-right bottom bottom-mid bottom-left bottom-right left left-mid mid mid-mid right right-mid";

export const printTable = async (
  io: Io,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): Promise<void> => {
  if (io.stdout.isTTY !== true) {
    for (const row of rows) print(io, row.join("\t"));
    return;
  }
  const { default: Table } = await import("cli-table3");
  const chars = { ...Object.fromEntries(LINES.split(" ").map((line) => [line, ""])), middle: "  " };
  const table = new Table({
    head: [...head],
    chars,
    style: { "padding-left": 0, "padding-right": 0, head: wantsColour(io, io.stdout) ? ["bold"] : [] },
  });
  table.push(...rows.map((row) => [...row]));
  print(io, table.toString());
};

/** Formats the age of a timestamp, such as `5 min`. */
export const ago = (timestamp: string, now = Date.now()): string => {
  const seconds = Math.max(0, Math.round((now - Date.parse(timestamp)) / 1000));
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 129_600 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} d`;
};
