/** What a user does in the console, on the memory provider. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ConsolePage, openConsole } from "../support/console/browser.ts";
import { ordinaryLines, seed, writeLines } from "../support/console/seed.ts";
import { type MemoryConsole, serveMemoryConsole } from "../support/console/served-console.ts";
import { useBrowser } from "../support/console/use-browser.ts";

const browser = useBrowser();
let served: MemoryConsole;
let ids: Awaited<ReturnType<typeof seed>>;
beforeAll(async () => {
  served = await serveMemoryConsole();
  ids = await seed(served);
});
afterAll(async () => {
  await served?.[Symbol.asyncDispose]();
});

const open = async (fragment: string): Promise<ConsolePage> => {
  const opened = await openConsole(browser(), served, { permissions: ["clipboard-read", "clipboard-write"] });
  await opened.open(fragment);
  return opened;
};

const clipboard = (page: Page): Promise<string> => page.evaluate("navigator.clipboard.readText()");

test("lists deployments with their release and traffic, and searches them", async () => {
  await using opened = await open("#/");
  const { page } = opened;
  const row = page.getByRole("row", { name: /shop-api/ });
  await row.getByRole("cell", { name: "Ready" }).waitFor();
  await row.getByRole("cell", { name: "3", exact: true }).waitFor();
  await row.getByRole("img", { name: /requests? and .* errors? in the last hour/ }).waitFor();
  await page.getByRole("searchbox", { name: "Search deployments" }).fill("image");
  await row.waitFor({ state: "hidden" });
  expect(page.url()).toMatch(/#\/\?q=image$/);
});

test("refreshes the list every ten seconds, and its metrics every minute", async () => {
  await using opened = await open("#/nowhere");
  const { page } = opened;
  await page.clock.install();
  const requests: string[] = [];
  page.on("requestfinished", (request) => requests.push(new URL(request.url()).pathname));
  const countOf = (path: string) => requests.filter((one) => one === path).length;
  await page.getByRole("link", { name: "Deployments", exact: true }).click();
  await page.getByRole("row", { name: /shop-api/ }).waitFor();
  await expect.poll(() => countOf("/v1/metrics")).toBe(1);
  const wait = async (lists: number) => {
    await expect.poll(() => countOf("/v1/deployment/list")).toBe(lists);
    await page.clock.runFor(10_000);
  };
  for (let lists = 1; lists <= 5; lists++) await wait(lists);
  await expect.poll(() => countOf("/v1/deployment/list")).toBe(6);
  expect(countOf("/v1/metrics")).toBe(1);
  await wait(6);
  await wait(7);
  await expect.poll(() => countOf("/v1/metrics")).toBe(2);
});

test("shows a deployment that another client creates, without a reload", async () => {
  await using opened = await open("#/");
  await served.deploy("late-arrival");
  await opened.page.getByRole("link", { name: "late-arrival", exact: true }).waitFor({ timeout: 30_000 });
  await served.client.deleteDeployment({ name: "late-arrival" });
});

test("draws the charts of a deployment, and keeps their range in the URL", async () => {
  await using opened = await open("#/deployments/shop-api");
  const { page } = opened;
  await page.getByRole("img", { name: /^Latency, latest values: p50: \d+ ms/ }).waitFor();
  await page.locator(".plot canvas").first().waitFor();
  await page.getByRole("button", { name: "24h" }).click();
  expect(page.url()).toMatch(/range=24h$/);
  await page.reload();
  expect(await page.getByRole("button", { name: "24h" }).getAttribute("aria-pressed")).toBe("true");
});

test("copies an action as curl and as a command", async () => {
  await using opened = await open("#/deployments/shop-api");
  const { page } = opened;
  await page.getByRole("button", { name: "Restart" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Copy CLI" }).click();
  await expect.poll(() => clipboard(page)).toBe("portside restart shop-api");
  await dialog.getByRole("button", { name: "Copy curl" }).click();
  await expect
    .poll(() => clipboard(page))
    .toBe(
      `curl ${served.url}/v1/deployment/restart -H "x-api-key: $PORTSIDE_API_KEY" -H 'content-type: application/json' -d '{"name":"shop-api"}'`,
    );
});

test("shows the plan of a rollback, rolls back and follows the deploy", async () => {
  await using opened = await open("#/deployments/shop-api/releases");
  const { page } = opened;
  await page.getByRole("button", { name: "Roll back to release 2" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Roll back to release 2", { exact: true }).waitFor();
  await dialog
    .getByRole("cell", { name: /LOG_LEVEL/ })
    .first()
    .waitFor();
  // The table has the changes, so the sentences do not repeat them.
  expect(await dialog.getByText(/^Replace /).count()).toBe(0);
  await dialog.getByRole("button", { name: "Roll back" }).click();
  await page.getByRole("heading", { name: "Deploy of shop-api" }).waitFor();
  await page.getByText("serves all traffic").first().waitFor();
  const { releases } = await served.client.listReleases({ name: "shop-api" });
  expect(releases[0]).toMatchObject({ release: 4, rolled_back_to: 2 });
});

test("restarts a deployment, and runs its schedule", async () => {
  await using opened = await open("#/deployments/nightly-report");
  const { page } = opened;
  await page.getByRole("button", { name: "Run schedule" }).click();
  await page.getByRole("button", { name: "Run now" }).click();
  await page.getByText(/The run .* has started/).waitFor();
  await page.getByRole("button", { name: "Restart" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Restart" }).click();
  await page.getByRole("heading", { name: "Deploy of nightly-report" }).waitFor();
});

test("deletes a deployment only after its name is typed", async () => {
  await served.deploy("old-blog");
  await using opened = await open("#/deployments/old-blog");
  const { page } = opened;
  await page.getByRole("button", { name: "Delete" }).click();
  const confirm = page.getByRole("dialog").getByRole("button", { name: "Delete" });
  await page.getByLabel("Type old-blog to confirm").fill("old-blo");
  expect(await confirm.isDisabled()).toBe(true);
  await page.getByLabel("Type old-blog to confirm").fill("old-blog");
  await confirm.click();
  await page.getByRole("heading", { name: "Deployments" }).waitFor();
  const names = (await served.client.listDeployments()).map(({ name }) => name);
  expect(names).not.toContain("old-blog");
});

test("shows the error of an action in its dialog", async () => {
  await served.deploy("vanishing");
  await using opened = await open("#/deployments/vanishing");
  const { page } = opened;
  await page.getByRole("button", { name: "Restart" }).click();
  await served.client.deleteDeployment({ name: "vanishing" });
  await page.getByRole("dialog").getByRole("button", { name: "Restart" }).click();
  await page.getByRole("dialog").getByRole("alert").getByText("vanishing").waitFor();
});

test("follows a running deploy, attaches again after a reload and cancels it", async () => {
  const started = served.deploy("slow-build");
  await using opened = await open("#/deploys");
  const { page } = opened;
  await page
    .getByRole("row", { name: /slow-build/ })
    .getByRole("link", { name: "Building" })
    .click();
  await page.getByText("Deploying as 'slow-build'").waitFor();
  await page.getByText(/^Build running/).waitFor();
  await page.reload();
  await page.getByText("Deploying as 'slow-build'").waitFor();
  await page.getByRole("button", { name: "Cancel the deploy" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel the deploy" }).click();
  await page.getByRole("alert").getByText("interrupted").waitFor();
  await started;
});

test("shows the reason and the last lines of a failed deploy as text", async () => {
  await using opened = await open(`#/deploys/${ids.failed}`);
  const alert = opened.page.getByRole("alert");
  await alert.getByRole("heading", { name: "npm run build exited with code 1." }).waitFor();
  await alert.getByText("<script>document.title='executed'</script>").waitFor();
  await alert.getByText("U+202E").waitFor();
  expect(await opened.page.title()).toBe("Deploy · Portside");
  expect(opened.problems).toEqual([]);
});

test("follows new log entries, pauses when the user scrolls up, and continues", async () => {
  await served.deploy("chatty");
  await writeLines(served, "chatty", ordinaryLines(200));
  await using opened = await open("#/deployments/chatty/logs");
  const { page } = opened;
  await page.getByText("GET /orders/1199 200").waitFor();
  await writeLines(served, "chatty", [["INFO", "a new line"]]);
  await page.getByText("a new line").waitFor();
  await page.getByRole("region", { name: "Log entries" }).hover();
  await page.mouse.wheel(0, -900);
  await page.getByRole("button", { name: "Follow new entries" }).waitFor();
  await writeLines(served, "chatty", [["INFO", "line while paused"]]);
  await page.getByRole("status").getByText("204 entries").waitFor();
  expect(await page.getByText("line while paused").count()).toBe(0);
  await page.getByRole("button", { name: "Follow new entries" }).click();
  await page.getByText("line while paused").waitFor();
});

test("expands a structured entry, and adds a field to the filter", async () => {
  await using opened = await open("#/deployments/shop-api/logs");
  const { page } = opened;
  await page
    .getByRole("button", { name: /order placed/ })
    .last()
    .click();
  await page.getByRole("button", { name: "Filter by user" }).click();
  await expect.poll(() => page.url()).toMatch(/query=jsonPayload\.user%3D%22(ada|grace)%22$/);
  await page.getByRole("textbox", { name: "Filter" }).waitFor();
  await expect.poll(() => page.getByRole("button", { name: /GET \/orders/ }).count()).toBe(0);
});

test("marks the error in a filter, and accepts the corrected one", async () => {
  await using opened = await open("#/deployments/shop-api/logs");
  const { page } = opened;
  const filter = page.getByRole("textbox", { name: "Filter" });
  await filter.fill("severity>==ERROR");
  await filter.press("Enter");
  await page.getByRole("alert").getByText("At character 11: expected a value after '>='").waitFor();
  await expect.poll(() => filter.getAttribute("aria-invalid")).toBe("true");
  expect(await page.locator(".cm-invalid").textContent()).toBe("=");
  await filter.fill("severity>=ERROR");
  await filter.press("Enter");
  await page.getByText("payment provider responded with 502").first().waitFor();
  expect(await page.getByText("order placed").count()).toBe(0);
});

test("a link to a log contains its filter, its severity and its end", async () => {
  await using opened = await open("#/deployments/shop-api/logs?severity=ERROR");
  await opened.page.getByText("payment provider responded with 502").first().waitFor();
  await opened.page.getByRole("button", { name: "Stop here" }).click();
  const link = opened.page.url();
  expect(link).toMatch(/severity=ERROR&until=2/);
  await writeLines(served, "shop-api", [["ERROR", "after the end"]]);
  await using other = await open(link.slice(link.indexOf("#")));
  await other.page.getByText("payment provider responded with 502").first().waitFor();
  expect(await other.page.getByText("after the end").count()).toBe(0);
  await other.page.getByRole("button", { name: "Show new entries" }).click();
  await other.page.getByText("after the end").waitFor();
});

test("shows hostile log lines as text, and cuts a line of 1 MB", async () => {
  await served.deploy("hostile");
  await writeLines(served, "hostile", [
    ["INFO", "<img src=x onerror=\"document.title='executed'\"><style>*{display:none}</style>"],
    ["INFO", `\u001b[32mgreen\u001b[0m \u202ereversed\u2066 \u0007bell`],
    ["INFO", `long ${"x".repeat(200_000)}end`],
    ["INFO", { message: "fields", "<b>name</b>": "<i>value</i>", deep: { "a\u202eb": [1, "two"] } }],
  ]);
  await using opened = await open("#/deployments/hostile/logs");
  const { page } = opened;
  await page.getByText("<img src=x onerror=").waitFor();
  expect(await page.locator(".ansi-32").first().textContent()).toBe("green");
  expect(await page.locator(".control").allTextContents()).toEqual(expect.arrayContaining(["U+202E", "U+2066", "␇"]));
  await page.getByRole("button", { name: /long xxx/ }).click();
  await page.getByRole("button", { name: /show all 200,008 characters/ }).click();
  await page.getByText(/xxxend$/).waitFor();
  await page.getByRole("button", { name: /fields/ }).click();
  await page.getByText("<b>name</b>", { exact: true }).waitFor();
  expect(await page.title()).toBe("hostile logs · Portside");
  expect(opened.problems).toEqual([]);
});

test("scrolls a log of many entries, with few of them in the document", async () => {
  await served.deploy("voluminous");
  await writeLines(served, "voluminous", ordinaryLines(3000));
  await using opened = await open("#/deployments/voluminous/logs");
  const { page } = opened;
  await page.getByText("GET /orders/3999 200").waitFor();
  const log = page.getByRole("region", { name: "Log entries" });
  await log.hover();
  for (let count = 0; count < 40 && !(await page.getByText("GET /orders/1001 200").isVisible()); count++) {
    await page.mouse.wheel(0, -20_000);
    await page.waitForTimeout(100);
  }
  await page.getByText("GET /orders/1001 200").waitFor();
  expect(await page.locator(".entry").count()).toBeLessThan(100);
});

test("skips to the content, and moves the focus to a new page", async () => {
  await using opened = await open("#/");
  const { page } = opened;
  await page.keyboard.press("Tab");
  await page.getByRole("button", { name: "Skip to content" }).press("Enter");
  expect(await page.evaluate("document.activeElement.id")).toBe("main");
  await page.getByRole("link", { name: "shop-api", exact: true }).press("Enter");
  await page.getByRole("heading", { name: "shop-api" }).waitFor();
  await expect.poll(() => page.evaluate("document.activeElement.id")).toBe("main");
});

test("shows times in UTC or in the browser's time zone", async () => {
  await using opened = await open(`#/deploys/${ids.done}`);
  const { page } = opened;
  const time = page.locator(".facts time").first();
  const local = await time.textContent();
  await page.getByRole("button", { name: "Local time" }).click();
  expect(await time.textContent()).not.toBe(local);
  await page.reload();
  await page.getByRole("button", { name: "UTC" }).waitFor();
});
