/** What generated pages are written with. */

export const MADE = "<!-- Made by `npm run docs`; change the code instead. -->";

export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
