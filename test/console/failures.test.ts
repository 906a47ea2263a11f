/** Malformed responses, and work that a reload would end. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openConsole } from "../support/console/browser.ts";
import { type MemoryConsole, serveMemoryConsole } from "../support/console/served-console.ts";
import { useBrowser } from "../support/console/use-browser.ts";

const browser = useBrowser();
let served: MemoryConsole;
beforeAll(async () => {
  served = await serveMemoryConsole();
  await served.client.createVolume({ name: "held-data" });
});
afterAll(() => served?.[Symbol.asyncDispose]());

test("a malformed response breaks one page, which the user can retry", async () => {
  await using opened = await openConsole(browser(), served);
  const { page } = opened;
  await page.route("**/v1/volume/list", (route) => route.fulfill({ json: [{ name: "half", id: "1" }] }));
  await page.getByRole("link", { name: "Volumes", exact: true }).click();
  await page.getByRole("alert").getByText("The console cannot show this page").waitFor();
  await page.getByRole("heading", { level: 1, name: "Volumes" }).waitFor();
  await page.getByRole("link", { name: "Domains", exact: true }).click();
  await page.getByText("No domains yet").waitFor();
  await page.getByRole("link", { name: "Volumes", exact: true }).click();
  await page.getByRole("alert").getByText("The console cannot show this page").waitFor();
  await page.unroute("**/v1/volume/list");
  await page.getByRole("button", { name: "Retry" }).click();
  await page.getByRole("link", { name: "held-data" }).waitFor();
  // The errors of both visits.
  expect(opened.problems).toHaveLength(2);
});

test("shows the code of an unknown currency", async () => {
  await using opened = await openConsole(browser(), served);
  const { page } = opened;
  const subscription = await served.client.getSubscription();
  await page.route("**/v1/user/subscription", (route) =>
    route.fulfill({ json: { ...subscription, amount: 1999, currency: "credits", interval: "month" } }),
  );
  await opened.open("#/account");
  await page.getByText("1999 credits").waitFor();
  expect(opened.problems).toEqual([]);
});

/** Asks the browser to close the page. Returns whether it asks the user first. */
const asksBeforeClosing = async (page: Page): Promise<boolean> => {
  const asked = page.waitForEvent("dialog").then(async (dialog) => {
    expect(dialog.type()).toBe("beforeunload");
    await dialog.dismiss();
    return true;
  });
  const closed = page.waitForEvent("close").then(() => false);
  await page.close({ runBeforeUnload: true });
  return Promise.race([asked, closed]);
};

test("the browser asks before it closes a page that uploads, and not afterwards", async () => {
  await using opened = await openConsole(browser(), served);
  const { page } = opened;
  await page.route("**/*", (route) => (route.request().method() === "PUT" ? undefined : route.continue()));
  await opened.open("#/volumes/held-data");
  await page.getByText("Drop files or folders here").click();
  await page.getByLabel("Files to upload").setInputFiles({
    name: "held.txt",
    mimeType: "text/plain",
    buffer: Buffer.from("held"),
  });
  await page.getByText("Uploading", { exact: false }).waitFor();
  expect(await asksBeforeClosing(page)).toBe(true);
  await page.getByRole("button", { name: "Cancel held.txt" }).click();
  await page.getByText("held.txt").waitFor({ state: "detached" });
  expect(await asksBeforeClosing(page)).toBe(false);
});

test("the browser asks before it closes a page that sends a deploy", async () => {
  await using opened = await openConsole(browser(), served);
  const { page } = opened;
  await page.route("**/v1/deploy", () => undefined);
  await opened.open("#/deploy");
  await page.getByRole("button", { name: "Use the example" }).click();
  await page.getByText("hello, 2 files").waitFor();
  await page.getByRole("button", { name: "Deploy", exact: true }).click();
  await page.getByText("Uploading", { exact: false }).waitFor();
  expect(await asksBeforeClosing(page)).toBe(true);
});
