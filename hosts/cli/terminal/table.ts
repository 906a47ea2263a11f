/** Prints rows as a table on a terminal. In a pipe, prints tab-separated text without the head. */
import { paint } from "./colour.ts";
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
  // By default, the library colours the lines, even with NO_COLOR.
  const style = { "padding-left": 0, "padding-right": 0, head: [], border: [] };
  const table = new Table({ head: head.map((name) => paint(io, "bold", name)), chars, style });
  table.push(...rows.map((row) => [...row]));
  // The library pads the last column to its longest cell, which would make each row as long as the longest one.
  for (const line of table.toString().split("\n")) print(io, line.trimEnd());
};

/** Formats the age of a timestamp, such as `5 min`. */
export const ago = (timestamp: string, now = Date.now()): string => {
  const seconds = Math.max(0, Math.round((now - Date.parse(timestamp)) / 1000));
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 129_600 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} d`;
};
