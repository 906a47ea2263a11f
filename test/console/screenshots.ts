/** Writes pictures of every page of the console, wide and narrow, to `docs/images/console`. */
import { mkdirSync } from "node:fs";
import { launchBrowser, openConsole } from "../support/console/browser.ts";
import { seed } from "../support/console/seed.ts";
import { serveMemoryConsole } from "../support/console/served-console.ts";

const FOLDER = process.argv[2] ?? "docs/images/console";
mkdirSync(FOLDER, { recursive: true });

const browser = await launchBrowser();
await using empty = await serveMemoryConsole();
await using full = await serveMemoryConsole();
const { failed, done } = await seed(full);

const pages: Readonly<Record<string, string>> = {
  deployments: "#/",
  deployment: "#/deployments/shop-api",
  releases: "#/deployments/shop-api/releases",
  "release-diff": "#/deployments/shop-api/releases?from=1&to=3",
  logs: "#/deployments/shop-api/logs",
  "filter-error": "#/deployments/shop-api/logs?query=severity%3E%3D%3DERROR",
  deploys: "#/deploys",
  deploy: `#/deploys/${done}`,
  "failed-deploy": `#/deploys/${failed}`,
};

/** Charts animate nothing, but lists measure their rows after the first frame. */
const SETTLE_MS = 900;

for (const [width, height] of [
  [1400, 900],
  [390, 844],
] as const)
  for (const colorScheme of ["light", "dark"] as const) {
    const suffix = `${width}${colorScheme === "dark" ? "-dark" : ""}`;
    const options = { viewport: { width, height }, colorScheme };
    await using opened = await openConsole(browser, full, options);
    for (const [name, fragment] of Object.entries(pages)) {
      await opened.open(fragment);
      await opened.page.waitForTimeout(SETTLE_MS);
      await opened.page.screenshot({ path: `${FOLDER}/${name}-${suffix}.png` });
    }
    await opened.open("#/deployments/shop-api/releases");
    await opened.page.getByRole("button", { name: "Roll back to release 1" }).click();
    await opened.page.waitForTimeout(SETTLE_MS);
    await opened.page.screenshot({ path: `${FOLDER}/rollback-${suffix}.png` });
    await using first = await openConsole(browser, empty, options);
    await first.page.waitForTimeout(SETTLE_MS);
    await first.page.screenshot({ path: `${FOLDER}/empty-${suffix}.png` });
    await first.page.getByRole("button", { name: "Sign out" }).click();
    await first.page.waitForTimeout(SETTLE_MS);
    await first.page.screenshot({ path: `${FOLDER}/sign-in-${suffix}.png` });
    if (opened.problems.length > 0) throw new Error(opened.problems.join("\n"));
  }
await browser.close();
