/** The README's picture shows the current output of the commands, except for numbers, ports and keys. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { record } from "../../docs/picture/main.ts";
import { svgOf } from "../../docs/picture/svg.ts";

/** The text of each row, without the runner, which depends on the machine. */
const rowsOf = (svg: string): string[] =>
  [...svg.matchAll(/<text [^>]*>(.*?)<\/text>/g)]
    .map(([, inside = ""]) => inside.replaceAll(/<\/?tspan[^>]*>/g, " ").trim())
    .map((row) =>
      row
        .replaceAll(/psk_\w*/g, "KEY")
        .replaceAll(/deploy_id=\w+/g, "ID")
        .replaceAll(/\d+/g, "N"),
    )
    .map((row) => row.replaceAll(/\((bubblewrap|process|container)\)/g, "(RUNNER)").replaceAll(/ +/g, " "));

const fromFirstCommand = (rows: readonly string[]): string[] =>
  rows.slice(rows.findIndex((row) => row.includes("init hello") && row.startsWith("$")));

test("matches the output of the commands", async () => {
  const { rows, columns } = await record();
  const now = rowsOf(svgOf(rows, columns, ""));
  const shown = rowsOf(readFileSync("docs/images/terminal.svg", "utf8"));
  expect(shown.slice(0, 3)).toEqual(now.slice(0, 3));
  expect(fromFirstCommand(now).length).toBeGreaterThan(15);
  expect(fromFirstCommand(shown)).toEqual(fromFirstCommand(now));
});

test("loads nothing and contains no script", () => {
  const svg = readFileSync("docs/images/terminal.svg", "utf8");
  expect(svg.replace('xmlns="http://www.w3.org/2000/svg"', "")).not.toMatch(
    /<script|<image|<foreignObject|href=|url\(|@import/,
  );
});
