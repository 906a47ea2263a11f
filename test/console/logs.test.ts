/** The histogram of a log, and the proposals in its filter, on the memory provider. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openConsole } from "../support/console/browser.ts";
import { ordinaryLines, writeLines } from "../support/console/seed.ts";
import { type MemoryConsole, serveMemoryConsole } from "../support/console/served-console.ts";
import { useBrowser } from "../support/console/use-browser.ts";

const HALF_HOUR_MS = 1_800_000;

const browser = useBrowser();
let served: MemoryConsole;
beforeAll(async () => {
  served = await serveMemoryConsole();
  served.clock.set(-HALF_HOUR_MS);
  await served.deploy("timeline");
  await writeLines(served, "timeline", [
    ["ERROR", "the old failure"],
    ["INFO", { message: "old", user: "<b>ada</b>", "odd name": 1 }],
  ]);
  served.clock.set(HALF_HOUR_MS);
  await writeLines(served, "timeline", ordinaryLines(60));
});
afterAll(async () => {
  await served?.[Symbol.asyncDispose]();
});

const open = async (fragment = "#/deployments/timeline/logs") => {
  const opened = await openConsole(browser(), served);
  await opened.open(fragment);
  return opened;
};

const histogram = (page: Page) => page.getByRole("slider", { name: "Entries over time" });

/** The middle of the column of the old entries. */
const oldColumn = async (page: Page): Promise<{ readonly x: number; readonly y: number }> => {
  await histogram(page).waitFor();
  const box = (await page.locator(".histogram rect.line-3[height]:not([height='0'])").first().boundingBox()) as DOMRect;
  return { x: box.x + box.width / 2, y: box.y };
};

test("counts the entries by severity, and a click shows the entries of one column", async () => {
  await using opened = await open();
  const { page } = opened;
  await page
    .locator(".histogram-text")
    .getByText(/\d+ entries, \d+ errors, \d+ warnings$/)
    .waitFor();
  const { x, y } = await oldColumn(page);
  await page.mouse.click(x, y);
  await page.getByRole("button", { name: /the old failure/ }).waitFor();
  await expect.poll(() => page.getByRole("button", { name: /GET \/orders/ }).count()).toBe(0);
  expect(page.url()).toMatch(/since=2\d{3}-.*&until=2\d{3}-/);
  await page.reload();
  await page.getByRole("button", { name: /the old failure/ }).waitFor();
  await page.getByRole("button", { name: "Show all times" }).click();
  await page
    .getByRole("button", { name: /GET \/orders/ })
    .first()
    .waitFor();
  expect(opened.problems).toEqual([]);
});

test("a drag shows the entries of several columns", async () => {
  await using opened = await open();
  const { page } = opened;
  const { x, y } = await oldColumn(page);
  await page.mouse.move(x - 60, y);
  await page.mouse.down();
  await page.mouse.move(x + 60, y, { steps: 4 });
  await page.mouse.up();
  await page.getByRole("button", { name: /the old failure/ }).waitFor();
  const { since = "", until = "" } = Object.fromEntries(new URLSearchParams(page.url().split("?")[1]));
  expect(Date.parse(until) - Date.parse(since)).toBeGreaterThan(2 * 60_000);
});

test("the keyboard selects columns and shows their entries", async () => {
  await using opened = await open();
  const { page } = opened;
  await histogram(page).focus();
  await page.keyboard.press("Home");
  for (let count = 0; count < 20; count++) await page.keyboard.press("Shift+ArrowRight");
  expect(await histogram(page).getAttribute("aria-valuetext")).toMatch(/: 0 entries$/);
  for (let count = 0; count < 20; count++) await page.keyboard.press("Shift+ArrowRight");
  expect(await histogram(page).getAttribute("aria-valuetext")).toMatch(/: [1-9]\d* entries, 1 error$/);
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: /the old failure/ }).waitFor();
  await expect.poll(() => page.getByRole("button", { name: /GET \/orders/ }).count()).toBe(0);
});

/** Accepts a proposal, and waits for the resulting text. The editor ignores keys right after a proposal appears. */
const accept = (page: Page, name: RegExp, text: string): Promise<void> =>
  expect
    .poll(async () => {
      const option = page.getByRole("option", { name });
      if (await option.isVisible()) await option.dispatchEvent("mousedown");
      return page.locator(".cm-content").textContent();
    })
    .toBe(text);

test("proposes the fields of the log and their values, as text", async () => {
  await using opened = await open();
  const { page } = opened;
  await page.locator(".cm-content").waitFor();
  await page.getByRole("textbox", { name: "Filter" }).click();
  await page.keyboard.type("jsonPayload.us");
  await accept(page, /jsonPayload\.user/, "jsonPayload.user=");
  await page.keyboard.type('"<b');
  await accept(page, /<b>ada<\/b>/, 'jsonPayload.user="<b>ada</b>"');
  await page.keyboard.press("Enter");
  await expect.poll(() => decodeURIComponent(page.url())).toContain('jsonPayload.user="<b>ada</b>"');
  await expect.poll(() => page.locator(".entry").count()).toBe(1);
  expect(opened.problems).toEqual([]);
});

test("the filter is usable while the code editor has not loaded", async () => {
  await using opened = await openConsole(browser(), served);
  const { page } = opened;
  await page.route("**/assets/code-editor-*.js", (route) => route.abort());
  await opened.open("#/deployments/timeline/logs");
  await page.getByRole("textbox", { name: "Filter" }).fill("severity>=ERROR AND old");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: /the old failure/ }).waitFor();
  await expect.poll(() => page.locator(".entry").count()).toBe(1);
});
