/** Every page with content: accessible in both themes, within the security policy, and without horizontal overflow. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { violationsOf } from "../support/console/accessibility.ts";
import { type ConsolePage, openConsole } from "../support/console/browser.ts";
import { seed } from "../support/console/seed.ts";
import { type MemoryConsole, serveMemoryConsole } from "../support/console/served-console.ts";
import { startSql } from "../support/console/start-sql.ts";
import { useBrowser } from "../support/console/use-browser.ts";

const browser = useBrowser();
let full: MemoryConsole;
let empty: MemoryConsole;
let ids: Awaited<ReturnType<typeof seed>>;
beforeAll(async () => {
  [full, empty] = await Promise.all([serveMemoryConsole(), serveMemoryConsole()]);
  ids = await seed(full);
  await startSql(full);
});
afterAll(async () => {
  await full?.[Symbol.asyncDispose]();
  await empty?.[Symbol.asyncDispose]();
});

/** Each page with a text that shows that it has loaded. */
const pages: Readonly<Record<string, readonly [fragment: () => string, text: string]>> = {
  deployments: [() => "#/", "shop-api.memory.invalid"],
  "a search without result": [() => "#/?q=nothing", "No deployment matches"],
  "a deployment": [() => "#/deployments/shop-api", "PAYMENT_URL"],
  releases: [() => "#/deployments/shop-api/releases", "Add the cache"],
  "a comparison": [() => "#/deployments/shop-api/releases?from=1&to=3", "env.PAYMENT_URL"],
  "the deploys of a deployment": [() => "#/deployments/shop-api/deploys", "serves all traffic"],
  "the settings of a deployment": [() => "#/deployments/shop-api/settings", "Remove CACHE"],
  "a new deployment": [() => "#/deploy?source=example", "hello, 2 files"],
  logs: [() => "#/deployments/shop-api/logs", "order placed"],
  "a rejected filter": [() => "#/deployments/shop-api/logs?query=severity%3E%3D%3DERROR", "At character 11"],
  volumes: [() => "#/volumes", "old-orders"],
  "a volume": [() => "#/volumes/orders", "README.md"],
  "a folder": [() => "#/volumes/orders?folder=reports%2F", "figures.csv"],
  "an object": [() => "#/volumes/orders?object=README.md", "Orders by month"],
  "a missing volume": [() => "#/volumes/no-such-volume", "no-such-volume"],
  sql: [() => "#/sql", "Tables and columns"],
  deploys: [() => "#/deploys", "build_failed"],
  "a deploy": [() => `#/deploys/${ids.done}`, "serves all traffic"],
  "a failed deploy": [() => `#/deploys/${ids.failed}`, "npm run build exited with code 1."],
  "costs by day": [() => "#/cost", "Platform, EUR"],
  "costs by user": [() => "#/cost?by=user", "<i>linus</i>"],
  "an account": [() => "#/account", "volumes.mounts"],
  "an unknown page": [() => "#/nowhere", "No page has this URL."],
  "a missing deployment": [() => "#/deployments/no-such-app", "no-such-app"],
};

const overflowOf = ({ page }: ConsolePage): Promise<number> =>
  page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");

describe.each(["light", "dark"] as const)("in the %s theme", (colorScheme) => {
  test.each(Object.entries(pages))(
    "%s has no violation of WCAG 2.2 AA or of the security policy",
    async (_name, [fragment, text]) => {
      await using opened = await openConsole(browser(), full, { colorScheme });
      await opened.open(fragment());
      await opened.page.getByText(text).first().waitFor();
      expect(await violationsOf(opened)).toEqual([]);
      expect(opened.problems).toEqual([]);
    },
  );

  test("dialogs, the empty list and the sign-in page have no violation", async () => {
    await using opened = await openConsole(browser(), full, { colorScheme });
    await opened.open("#/deployments/shop-api/releases");
    await opened.page.getByRole("button", { name: "Roll back to release 1" }).click();
    await opened.page.getByText("A rollback does not change the data of volumes").waitFor();
    expect(await violationsOf(opened)).toEqual([]);
    await opened.page.keyboard.press("Escape");
    await opened.page.getByRole("button", { name: "Delete" }).click();
    expect(await violationsOf(opened)).toEqual([]);
    await opened.page.keyboard.press("Escape");
    await opened.open("#/deployments/shop-api/settings");
    await opened.page.getByLabel("Memory").fill("much");
    await opened.page.getByRole("button", { name: "Add a mount" }).click();
    await opened.page.getByRole("button", { name: "Add a variable" }).click();
    await opened.page.getByRole("button", { name: "Show the plan" }).click();
    await opened.page.getByText("must be a quantity").waitFor();
    expect(await violationsOf(opened)).toEqual([]);
    await opened.page.getByLabel("Memory").fill("2Gi");
    await opened.page.getByRole("button", { name: "Remove the row" }).first().click();
    await opened.page.getByRole("button", { name: "Show the plan" }).click();
    await opened.page.getByText("A deploy needs the source").waitFor();
    expect(await violationsOf(opened)).toEqual([]);
    await using first = await openConsole(browser(), empty, { colorScheme });
    await first.page.getByText("No deployments yet").waitFor();
    expect(await violationsOf(first)).toEqual([]);
    await first.page.getByRole("button", { name: "Sign out" }).click();
    await first.page.getByLabel("API key").waitFor();
    expect(await violationsOf(first)).toEqual([]);
    expect([...opened.problems, ...first.problems]).toEqual([]);
  });
});

test.each(Object.entries(pages))("%s fits a window of 360 pixels", async (_name, [fragment, text]) => {
  await using opened = await openConsole(browser(), full, { viewport: { width: 360, height: 700 } });
  await opened.open(fragment());
  await opened.page.getByText(text).first().waitFor();
  expect(await overflowOf(opened)).toBeLessThanOrEqual(0);
});

test("a page in a background tab loads", async () => {
  await using opened = await openConsole(browser(), full);
  await opened.page.addInitScript("Object.defineProperty(document, 'hidden', { get: () => true })");
  await opened.page.reload();
  await opened.open("#/volumes/orders");
  await opened.page.getByRole("link", { name: "README.md" }).waitFor();
});
