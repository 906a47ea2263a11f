/** The main story on the local provider: services are real processes. */
import { expect, test } from "vitest";
import { nodeSource } from "../support/archives/archives.ts";
import { openConsole } from "../support/console/browser.ts";
import { serveConsole } from "../support/console/served-console.ts";
import { useBrowser } from "../support/console/use-browser.ts";
import { startLocal } from "../support/providers/local-platform.ts";

const browser = useBrowser();

const server = (line: string) => `
import { createServer } from "node:http";
console.log(${JSON.stringify(line)});
createServer((_request, response) => response.end("hello")).listen(process.env.PORT);
`;

const blobOf = (source: Uint8Array) => new Blob([new Uint8Array(source)]);

test("signs in, watches a deploy fail, finds the line in the logs, rolls back and deletes", async () => {
  await using platform = await startLocal({ runner: "process" });
  await using served = await serveConsole(platform.local.ports);
  const name = "console-story";
  await served.deploy(name, { source_archive: blobOf(nodeSource(server("first version"))), message: "First" });
  await served.deploy(name, { source_archive: blobOf(nodeSource(server("second version"))), message: "Second" });
  await using opened = await openConsole(browser(), served);
  const { page } = opened;

  await page
    .getByRole("row", { name: new RegExp(name) })
    .getByRole("cell", { name: "Ready" })
    .waitFor();
  const failing = served.deploy(name, {
    source_archive: blobOf(nodeSource('console.error("no database"); process.exit(3);')),
  });
  await opened.open("#/deploys");
  await page
    .getByRole("row")
    .filter({ hasText: name })
    .getByRole("link", { name: /Building|Deploying|Failed/ })
    .click();
  await page.getByRole("alert").getByText("crashed").waitFor({ timeout: 60_000 });
  await page.getByRole("alert").getByText("no database").waitFor();
  await failing;

  await page.getByRole("link", { name, exact: true }).click();
  await page.getByRole("row", { name: /Ready/ }).first().waitFor();
  await page.getByRole("link", { name: "Logs" }).click();
  await page.getByRole("textbox", { name: "Filter" }).fill('"no database"');
  await page.keyboard.press("Enter");
  await page
    .getByRole("button", { name: /no database/ })
    .first()
    .waitFor();

  await page.getByRole("link", { name: "Releases" }).click();
  await page.getByRole("button", { name: "Roll back to release 1" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Roll back" }).click();
  await page
    .getByText(/serves all traffic|Done/)
    .first()
    .waitFor({ timeout: 60_000 });
  await expect.poll(async () => (await served.client.getDeployment({ name })).release).toBe(3);

  await page.getByRole("link", { name, exact: true }).click();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByLabel(`Type ${name} to confirm`).fill(name);
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("No deployments yet").waitFor();
  expect(opened.problems).toEqual([]);
});
