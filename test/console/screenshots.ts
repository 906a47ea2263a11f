/** Writes wide and narrow screenshots of every page of the console to `docs/images/console`. */
import { mkdirSync } from "node:fs";
import { type ConsolePage, launchBrowser, openConsole } from "../support/console/browser.ts";
import { seed } from "../support/console/seed.ts";
import { serveMemoryConsole } from "../support/console/served-console.ts";

const FOLDER = process.argv[2] ?? "docs/images/console";

const browser = await launchBrowser();
await using empty = await serveMemoryConsole();
await using full = await serveMemoryConsole();
const { failed, done } = await seed(full);
// The first query starts the process that adds up costs.
await full.client.getCost({ by: "day" });

const pages: Readonly<Record<string, string>> = {
  deployments: "#/",
  deployment: "#/deployments/shop-api",
  releases: "#/deployments/shop-api/releases",
  "states/release-diff": "#/deployments/shop-api/releases?from=1&to=3",
  settings: "#/deployments/shop-api/settings",
  "new-deployment": "#/deploy?source=example",
  logs: "#/deployments/shop-api/logs",
  "states/filter-error": "#/deployments/shop-api/logs?query=severity%3E%3D%3DERROR",
  volumes: "#/volumes",
  volume: "#/volumes/orders",
  "states/object": "#/volumes/orders?object=README.md",
  domains: "#/domains",
  deploys: "#/deploys",
  deploy: `#/deploys/${done}`,
  "failed-deploy": `#/deploys/${failed}`,
  cost: "#/cost",
  "states/cost-by-user": "#/cost?by=user",
  account: "#/account",
};

/** Lists measure their rows after the first frame, and charts load their code. */
const SETTLE_MS = 900;

const views = [
  { width: 1400, height: 900, colorScheme: "light" },
  { width: 390, height: 844, colorScheme: "light" },
  { width: 1400, height: 900, colorScheme: "dark" },
] as const;

for (const { width, height, colorScheme } of views) {
  const folder = `${FOLDER}/${width}${colorScheme === "dark" ? "-dark" : ""}`;
  mkdirSync(`${folder}/states`, { recursive: true });
  const options = { viewport: { width, height }, colorScheme };
  await using opened = await openConsole(browser, full, options);
  await using first = await openConsole(browser, empty, options);
  const take = async ({ page }: ConsolePage, name: string): Promise<void> => {
    await page.waitForTimeout(SETTLE_MS);
    await page.screenshot({ path: `${folder}/${name}.png` });
  };
  for (const [name, fragment] of Object.entries(pages)) {
    await opened.open(fragment);
    await take(opened, name);
  }
  await opened.open("#/deployments/shop-api/logs");
  await opened.page
    .getByRole("button", { name: /order placed/ })
    .last()
    .click();
  await take(opened, "states/log-entry");
  await opened.open("#/deployments/shop-api/releases");
  await opened.page.getByRole("button", { name: "Roll back to release 1" }).click();
  await take(opened, "states/rollback");
  await opened.open("#/deployments/shop-api/settings");
  await opened.page.getByLabel("Memory").fill("4Gi");
  await opened.page.getByRole("button", { name: "Show the plan" }).click();
  await take(opened, "states/plan");
  await opened.open("#/sql");
  await opened.page.locator(".cm-content").click();
  await opened.page.keyboard.press("Control+Enter");
  await opened.page.getByText(/ rows? in /).waitFor();
  await take(opened, "sql");
  await opened.open("#/domains");
  await opened.page.getByRole("button", { name: "Add domain" }).click();
  await take(opened, "states/add-domain");
  await take(first, "states/empty");
  await first.page.getByRole("button", { name: "Sign out" }).click();
  await take(first, "sign-in");
  if (opened.problems.length > 0) throw new Error(opened.problems.join("\n"));
}
await browser.close();
