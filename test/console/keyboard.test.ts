/** The console by keyboard only: the command palette, the shortcuts, and the main workflow. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { violationsOf } from "../support/console/accessibility.ts";
import { openConsole } from "../support/console/browser.ts";
import { seed } from "../support/console/seed.ts";
import { type MemoryConsole, serveMemoryConsole } from "../support/console/served-console.ts";
import { useBrowser } from "../support/console/use-browser.ts";

const browser = useBrowser();
let served: MemoryConsole;
beforeAll(async () => {
  served = await serveMemoryConsole();
  await seed(served);
});
afterAll(async () => {
  await served?.[Symbol.asyncDispose]();
});

const palette = (page: Page) => page.getByRole("combobox", { name: "Search pages, deployments and actions" });

test.each(["light", "dark"] as const)(
  "the palette and the list of shortcuts are accessible (%s)",
  async (colorScheme) => {
    await using opened = await openConsole(browser(), served, { colorScheme, viewport: { width: 360, height: 700 } });
    const { page } = opened;
    await page.keyboard.press("Control+k");
    await page.getByRole("option", { name: /shop-api logs/ }).waitFor();
    expect(await violationsOf(opened)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.getByRole("heading", { name: "Keyboard shortcuts" }).waitFor();
    expect(await violationsOf(opened)).toEqual([]);
    expect(opened.problems).toEqual([]);
  },
);

test("the palette opens again immediately after it was cancelled", async () => {
  await using opened = await openConsole(browser(), served);
  const { page } = opened;
  await page.keyboard.press("Control+k");
  await palette(page).waitFor();
  await palette(page).fill("shop logs");
  // The page renders in a microtask, and the browser sends the event `close` in a later task.
  await page.evaluate(`(async () => {
    document.querySelector("dialog").requestClose();
    for (let ticks = 0; ticks < 10; ticks++) await Promise.resolve();
    document.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true }));
  })()`);
  await expect.poll(() => page.evaluate("document.querySelector('dialog[open] input')?.value")).toBe("");
  expect(opened.problems).toEqual([]);
});

test("the palette finds a page, and returns the focus if it closes without a choice", async () => {
  await using opened = await openConsole(browser(), served);
  const { page } = opened;
  await page.getByRole("searchbox", { name: "Search deployments" }).focus();
  await page.keyboard.press("Meta+k");
  await palette(page).waitFor();
  await page.keyboard.press("Escape");
  expect(await page.evaluate("document.activeElement.type")).toBe("search");
  await page.keyboard.press("Control+k");
  await palette(page).fill("shop logs");
  await page.getByRole("option", { name: "shop-api logs Page", selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("region", { name: "Log entries" }).waitFor();
  expect(page.url()).toMatch(/#\/deployments\/shop-api\/logs$/);
});

test("the arrow keys select a command, and its option is the active descendant", async () => {
  await using opened = await openConsole(browser(), served);
  const { page } = opened;
  await page.keyboard.press("Control+k");
  await palette(page).fill("image-resizer");
  await page
    .getByRole("option", { name: /image-resizer/ })
    .first()
    .waitFor();
  await page.keyboard.press("ArrowDown");
  const selected = page.getByRole("option", { selected: true });
  expect(await selected.textContent()).toContain("image-resizer releases");
  expect(await palette(page).getAttribute("aria-activedescendant")).toBe(await selected.getAttribute("id"));
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  expect(await selected.textContent()).toContain("Delete image-resizer");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByLabel("Type image-resizer to confirm").waitFor();
});

test("letters open pages, except in a text field", async () => {
  await using opened = await openConsole(browser(), served);
  const { page } = opened;
  await page.keyboard.press("g");
  await page.keyboard.press("a");
  await page.getByRole("heading", { name: "Account acme" }).waitFor();
  await page.getByLabel("Label of a new key").focus();
  await page.keyboard.type("g?c");
  expect(await page.getByLabel("Label of a new key").inputValue()).toBe("g?c");
  expect(await page.getByRole("dialog").count()).toBe(0);
});

test.each([
  ["d", "Deployments"],
  ["n", "New deployment"],
  ["y", "Deploys"],
  ["v", "Volumes"],
  ["o", "Domains"],
  ["s", "SQL"],
  ["c", "Cost"],
])("g and %s open %s, and the page receives the focus", async (key, title) => {
  await using opened = await openConsole(browser(), served);
  const { page } = opened;
  await opened.open("#/account");
  await page.keyboard.press("g");
  await page.keyboard.press(key);
  await page.getByRole("heading", { level: 1, name: title, exact: true }).waitFor();
  expect(await page.evaluate("document.activeElement.id")).toBe("main");
});

test("letters open no page while the palette loads", async () => {
  await using opened = await openConsole(browser(), served);
  const { page } = opened;
  await opened.open("#/account");
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  await page.route("**/assets/palette-*.js", async (route) => {
    await held;
    await route.continue();
  });
  await page.keyboard.press("Control+k");
  await page.keyboard.type("logs");
  release();
  await palette(page).waitFor();
  expect(page.url()).toMatch(/#\/account$/);
});

/** Presses Tab until an element has the focus. */
const tabTo = async (page: Page, name: string | RegExp, role: "button" | "link"): Promise<void> => {
  const target = page.getByRole(role, { name, exact: true }).first();
  await target.waitFor();
  for (let count = 0; count < 80; count++) {
    await page.keyboard.press("Tab");
    if (await target.evaluate((element) => element === element.ownerDocument.activeElement)) return;
  }
  throw new Error(`Tab does not reach ${name}.`);
};

test("signs in, rolls a deployment back, reads its log and signs out by keyboard only", async () => {
  const context = await browser().newContext();
  const page = await context.newPage();
  await page.goto(`${served.url}/console/`);
  await page.getByLabel("API key").waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.type(served.key);
  await page.keyboard.press("Enter");
  await tabTo(page, "shop-api", "link");
  await page.keyboard.press("Enter");
  await tabTo(page, "Releases", "link");
  await page.keyboard.press("Enter");
  await tabTo(page, "Roll back to release 1", "button");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByText("A rollback does not change the data of volumes").waitFor();
  await tabTo(page, "Roll back", "button");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Deploy of shop-api" }).waitFor();
  await page.getByText("serves all traffic").first().waitFor();
  await page.keyboard.press("Control+k");
  await palette(page).waitFor();
  await page.keyboard.type("shop-api logs");
  await page.getByRole("option", { name: "shop-api logs Page", selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByText("order placed").first().waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("severity>=ERROR");
  // Closes the proposals; Enter would accept one.
  await page.keyboard.press("Escape");
  await page.keyboard.press("Enter");
  await expect.poll(() => page.url()).toMatch(/query=severity%3E%3DERROR$/);
  await page.getByText("payment provider responded with 502").first().waitFor();
  await tabTo(page, "Sign out", "button");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Sign in to Portside" }).waitFor();
  await context.close();
});
