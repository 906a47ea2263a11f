/** The main story on the local provider: services are real processes. */
import { expect, test } from "vitest";
import { folderWith } from "../support/archives/folders.ts";
import { openConsole } from "../support/console/browser.ts";
import { dropFiles } from "../support/console/drop-files.ts";
import { serveConsole } from "../support/console/served-console.ts";
import { useBrowser } from "../support/console/use-browser.ts";
import { startLocal } from "../support/providers/local-platform.ts";

const browser = useBrowser();

const server = (line: string) => `
import { createServer } from "node:http";
console.log(${JSON.stringify(line)});
createServer((_request, response) => response.end("hello")).listen(process.env.PORT);
`;

/** The files of a Node service. */
const filesOf = (code: string) => ({
  "package.json": JSON.stringify({
    name: "story",
    private: true,
    type: "module",
    scripts: { start: "node server.js" },
  }),
  "server.js": code,
});

const LONG = { timeout: 60_000 };

test("deploys by drop, watches a deploy fail, finds the line in the logs, fixes it, rolls back and deletes", async () => {
  await using platform = await startLocal({ runner: "process" });
  await using served = await serveConsole(platform.local.ports);
  await using opened = await openConsole(browser(), served);
  using folder = folderWith(filesOf(server("first version")));
  const name = "console-story";
  const { page } = opened;

  await page.getByText("No deployments yet").waitFor();
  await dropFiles(page, ".page-drop", [folder.path]);
  await page.getByText(", 2 files").waitFor();
  await page.getByLabel("Name").fill(name);
  await page.getByRole("button", { name: "Deploy", exact: true }).click();
  await page.getByText("serves all traffic").first().waitFor(LONG);

  const deployAgain = async (): Promise<void> => {
    await page.getByRole("link", { name: "Settings" }).click();
    await dropFiles(page, ".source-drop", [folder.path]);
    await page.getByText(", 2 files").waitFor();
    await page.getByRole("button", { name: "Show the plan" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Deploy" }).click();
    await page.getByRole("heading", { name: `Deploy of ${name}` }).waitFor();
  };
  folder.write({ "server.js": 'console.error("no database"); process.exit(3);' });
  await page.getByRole("link", { name, exact: true }).click();
  await deployAgain();
  await page.getByRole("alert").getByText("crashed").waitFor(LONG);
  await page.getByRole("alert").getByText("no database").waitFor();

  await page.getByRole("link", { name, exact: true }).click();
  await page.getByRole("row", { name: /Ready/ }).first().waitFor();
  await page.getByRole("link", { name: "Logs" }).click();
  await page.getByRole("textbox", { name: "Filter" }).fill('"no database"');
  await page.keyboard.press("Enter");
  await page
    .getByRole("button", { name: /no database/ })
    .first()
    .waitFor();

  folder.write(filesOf(server("second version")));
  await deployAgain();
  await page.getByText("serves all traffic").first().waitFor(LONG);

  await page.getByRole("link", { name, exact: true }).click();
  await page.getByRole("link", { name: "Releases" }).click();
  await page.getByRole("button", { name: "Roll back to release 1" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Roll back" }).click();
  await page.getByText("serves all traffic").first().waitFor(LONG);
  const newest = async () => (await served.client.listReleases({ name })).releases[0];
  await expect.poll(newest).toMatchObject({ status: "serving", rolled_back_to: 1 });

  await page.getByRole("link", { name, exact: true }).click();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByLabel(`Type ${name} to confirm`).fill(name);
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("No deployments yet").waitFor();
  expect(opened.problems).toEqual([]);
});
