/** The SQL page: the editor with completion, the result, its chart and its files, and saved queries. */
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type ConsolePage, openConsole } from "../support/console/browser.ts";
import { writeLines } from "../support/console/seed.ts";
import { type MemoryConsole, serveMemoryConsole } from "../support/console/served-console.ts";
import { useBrowser } from "../support/console/use-browser.ts";
import { eventually } from "../support/vitest/eventually.ts";

const browser = useBrowser();
let served: MemoryConsole;
let opened: ConsolePage;
beforeAll(async () => {
  served = await serveMemoryConsole();
  await served.deploy("sql-app");
  // The first statement starts the process that runs statements.
  await eventually(() => served.client.runSql({ query: "SELECT 1 AS one" }));
  await writeLines(served, "sql-app", [["ERROR", "<img src=x onerror=\"document.title='executed'\">"]]);
});
beforeEach(async () => {
  opened = await openConsole(browser(), served);
  await opened.open("#/sql");
  await editor().waitFor();
  return async () => {
    expect(opened.problems).toEqual([]);
    await opened[Symbol.asyncDispose]();
  };
});
afterAll(() => served?.[Symbol.asyncDispose]());

/** The code editor, without the plain field that it replaces. */
const editor = () => opened.page.locator(".cm-content");

/** Replaces the text of the editor with the keyboard. */
const write = async (text: string): Promise<void> => {
  const { page } = opened;
  await editor().click();
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Delete");
  await page.keyboard.insertText(text);
};

const cell = (row: number, column: number) =>
  opened.page.locator(`.result-row[aria-rowindex="${row + 1}"] > td`).nth(column - 1);

test("runs a statement with Ctrl-Enter, and the URL contains the statement", async () => {
  const { page } = opened;
  await write("SELECT 1 AS number, 'text' AS word, NULL AS nothing");
  await page.keyboard.press("Control+Enter");
  await page.getByText("1 row in").waitFor();
  expect(await cell(1, 1).textContent()).toBe("1");
  expect(await cell(1, 2).textContent()).toBe("text");
  expect(await cell(1, 3).textContent()).toBe("NULL");
  await page.getByRole("columnheader", { name: "number INT64" }).waitFor();
  await page.reload();
  await editor().getByText("SELECT 1 AS number").waitFor();
});

test("replaces a selection while the user types, with the brackets of the editor", async () => {
  const { page } = opened;
  await write("SELECT 1");
  await page.keyboard.press("Control+a");
  await page.keyboard.type("S");
  await page.keyboard.press("Control+a");
  await page.keyboard.type("(");
  await expect.poll(() => editor().textContent()).toBe("(S)");
});

test("completes columns and the fields of structs with the keyboard", async () => {
  const { page } = opened;
  await write("SELECT COUNT(*) AS n FROM logs WHERE seve");
  await page.keyboard.press("Control+Space");
  await page.getByRole("option", { name: /severity/ }).waitFor();
  // The editor ignores keys in the first 75 ms of a list, so that a fast key does not accept it by accident.
  await page.waitForTimeout(150);
  await page.keyboard.press("Tab");
  await page.keyboard.insertText(" = 'ERROR' AND resource.");
  await page.keyboard.press("Control+Space");
  await page.getByRole("option", { name: /labels/ }).waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.insertText("type IS NOT NULL");
  await page.keyboard.press("Control+Enter");
  await page.getByText("1 row in").waitFor();
  expect(await cell(1, 1).textContent()).toBe("1");
});

test("marks the position of an error", async () => {
  const { page } = opened;
  await write("SELECT 1 AS one\nFROM nowhere");
  await page.keyboard.press("Control+Enter");
  await page.getByRole("alert").getByText("unknown table 'nowhere' at line 2, column 6").waitFor();
  expect(await page.locator(".cm-invalid").textContent()).toBe("n");
  expect(await page.getByRole("alert").locator("mark").textContent()).toBe("n");
});

test("shows hostile values as text, and the whole value of a row", async () => {
  const { page } = opened;
  await write(
    "SELECT text_payload AS a, '\\u202egnp' AS bidi, '\\u001b[31mred' AS ansi, " +
      `'${"x".repeat(3000)}' AS long_text FROM logs WHERE text_payload LIKE '%onerror%'`,
  );
  await page.keyboard.press("Control+Enter");
  await page.getByText("1 row in").waitFor();
  expect(await cell(1, 1).textContent()).toBe("<img src=x onerror=\"document.title='executed'\">");
  expect(await cell(1, 2).textContent()).toBe("U+202Egnp");
  expect(await cell(1, 3).locator(".ansi-31").textContent()).toBe("red");
  expect((await cell(1, 4).textContent())?.length).toBe(200);
  await page.getByRole("button", { name: "Show row 1" }).press("Enter");
  await page
    .getByRole("region", { name: "Row 1" })
    .getByText(/^x{3000}$/)
    .waitFor();
  expect(await page.title()).toBe("SQL · Portside");
});

test("draws a chart, and downloads CSV and JSON", async () => {
  const { page } = opened;
  await write("SELECT n, n * n AS squared, CONCAT('=', CAST(n AS STRING)) AS formula FROM UNNEST([1, 2, 3]) AS n");
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByText("3 rows in").waitFor();
  await page.getByRole("button", { name: "Chart" }).click();
  await page.getByLabel("Up").selectOption("squared");
  await page.getByRole("img", { name: "Chart of squared by" }).locator("canvas").waitFor();
  const saved = async (name: string): Promise<string> => {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: `Download ${name}` }).click(),
    ]);
    return readFile((await download.path()) as string, "utf8");
  };
  expect(await saved("CSV")).toBe("\ufeffn,squared,formula\r\n1,1,'=1\r\n2,4,'=2\r\n3,9,'=3\r\n");
  expect(JSON.parse(await saved("JSON"))[2]).toEqual({ n: 3, squared: 9, formula: "=3" });
});

test("renders few of many rows", async () => {
  const { page } = opened;
  const digits = "(SELECT d FROM UNNEST([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]) AS d)";
  await write(
    `SELECT a.d * 1000 + b.d * 100 + c.d * 10 + e.d AS n FROM ${digits} AS a, ${digits} AS b, ${digits} AS c, ${digits} AS e`,
  );
  await page.keyboard.press("Control+Enter");
  await page.getByText("10,000 rows in").waitFor();
  expect(await page.locator(".result-row").count()).toBeLessThan(100);
  await page.getByRole("region", { name: "Result rows" }).press("End");
  await page.getByRole("button", { name: "Show row 10000" }).waitFor();
  expect(await page.locator(".result-row").count()).toBeLessThan(100);
});

test("saves a query in the browser, opens it and deletes it", async () => {
  const { page } = opened;
  await write("SELECT 42 AS answer");
  await page.getByRole("button", { name: "Save query" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("the <b>answer</b>");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "the <b>answer</b>", exact: true }).waitFor();
  await opened.open("#/");
  await opened.open("#/sql");
  await page.getByRole("button", { name: "the <b>answer</b>", exact: true }).press("Enter");
  await editor().getByText("SELECT 42 AS answer").waitFor();
  await page.getByRole("button", { name: "Delete the query the <b>answer</b>" }).click();
  await expect.poll(() => page.getByText("Saved queries").count()).toBe(0);
});
