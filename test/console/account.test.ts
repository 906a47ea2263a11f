/** The pages of costs and of the account, on the memory provider. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openConsole } from "../support/console/browser.ts";
import { seed, writeLines } from "../support/console/seed.ts";
import { type MemoryConsole, serveMemoryConsole } from "../support/console/served-console.ts";
import { startSql } from "../support/console/start-sql.ts";
import { useBrowser } from "../support/console/use-browser.ts";

const browser = useBrowser();
let served: MemoryConsole;
beforeAll(async () => {
  served = await serveMemoryConsole();
  await seed(served);
  await startSql(served);
});
afterAll(async () => {
  await served?.[Symbol.asyncDispose]();
});

const open = async (fragment: string) => {
  const opened = await openConsole(browser(), served, { permissions: ["clipboard-read", "clipboard-write"] });
  await opened.open(fragment);
  return opened;
};

const totalsOf = (page: Page): Promise<string[]> => page.locator(".totals > div").allInnerTexts();

test("shows the costs of a month by day, with a column for each currency", async () => {
  await using opened = await open("#/cost");
  const { page } = opened;
  await page.getByRole("img", { name: "Platform, EUR by day" }).waitFor();
  const totals = (await totalsOf(page)).map((text) => text.replace("\n", " "));
  expect(totals).toEqual(["Models, USD 0.718", "Platform, EUR 2.15", "Platform, USD 0.08", "Turns 40"]);
  await page.getByText("The month is not over.").waitFor();
  const today = page.getByRole("row", { name: new RegExp(`^${new Date().toISOString().slice(0, 10)}`) });
  await today.getByText("incomplete").waitFor();
});

test("groups costs by user as text, and keeps the group and the month in the URL", async () => {
  await using opened = await open("#/cost");
  const { page } = opened;
  await page.getByRole("button", { name: "User" }).click();
  await page.getByRole("rowheader", { name: "<i>linus</i>" }).waitFor();
  expect(await page.getByRole("columnheader", { name: "Platform, EUR" }).count()).toBe(0);
  await page.getByRole("button", { name: "Previous month" }).click();
  await page.getByText("No costs in this month").waitFor();
  expect(page.url()).toMatch(/by=user&month=\d{4}-\d\d$/);
  await page.getByRole("button", { name: "Copy CLI" }).click();
  const copied = await page.evaluate("navigator.clipboard.readText()");
  expect(copied).toMatch(/^portside cost -m \d{4}-\d\d -b user$/);
  expect(opened.problems).toEqual([]);
});

test("shows text of a service in the costs as text", async () => {
  await served.deploy("hostile-costs");
  const model = "\u202e<img src=x onerror=\"document.title='executed'\">";
  await writeLines(served, "hostile-costs", [["INFO", { level: "usage", model, input: 1, output: 1, cost: 9 }]]);
  await using opened = await open("#/cost?by=model");
  await opened.page.getByRole("rowheader", { name: "U+202E<img src=x" }).waitFor();
  expect(await opened.page.title()).toBe("Cost · Portside");
  expect(opened.problems).toEqual([]);
  await served.client.deleteDeployment({ name: "hostile-costs" });
});

test("creates a key, shows it once, and revokes it", async () => {
  await using opened = await open("#/account");
  const { page } = opened;
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByRole("alert").getByText("The label").waitFor();
  await page.getByLabel("Label of a new key").fill("<b>laptop</b>");
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog");
  const key = (await dialog.locator("code").textContent()) as string;
  expect(key).toMatch(/^psk_\w{40}$/);
  await dialog.getByRole("button", { name: "Done" }).click();
  expect(await page.content()).not.toContain(key);
  const row = page.getByRole("row", { name: /<b>laptop<\/b>/ });
  await row.getByRole("button", { name: /Revoke/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await row.waitFor({ state: "detached" });
  const response = await fetch(`${served.url}/v1/key/list`, { headers: { "x-api-key": key } });
  expect(response.status).toBe(401);
  expect(opened.problems).toEqual([]);
});

test("ends another session, and returns the focus after a dialog", async () => {
  await using other = await open("#/");
  await using opened = await open("#/account");
  const { page } = opened;
  const { sessions } = await served.client.listSessions();
  const end = page.getByRole("button", { name: "End", exact: true });
  await expect.poll(() => end.count()).toBe(sessions.length - 1);
  await page.getByText("this session").waitFor();
  await end.last().click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  expect(await page.evaluate("document.activeElement.textContent")).toBe("End");
  for (let left = sessions.length - 1; left > 0; left--) {
    await end.last().click();
    await page.getByRole("dialog").getByRole("button", { name: "End the session" }).click();
    await expect.poll(() => end.count()).toBe(left - 1);
  }
  await other.page.getByRole("heading", { name: "Sign in to Portside" }).waitFor();
});

test("shows the quotas with their use, the subscription and the capabilities", async () => {
  await using opened = await open("#/account");
  const { page } = opened;
  await page.getByRole("meter", { name: "Deployments" }).waitFor();
  await page.getByRole("row", { name: "Deployments" }).getByText("3 of 50").waitFor();
  await page.getByText("The platform has no billing provider.").waitFor();
  await page.getByRole("row", { name: "busy_leases" }).getByText("nothing runs").waitFor();
});
