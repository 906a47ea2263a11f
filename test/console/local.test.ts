/** The main workflow on the local provider, with real processes. `PORTSIDE_UPLOAD_MIB` sets the size of the upload. */
import { createHash, randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { MiB } from "../../core/domain/accounts/limits.ts";
import { folderWith } from "../support/archives/folders.ts";
import { serveThrough, storagePortOf } from "../support/console/breaking-storage.ts";
import { openSignIn } from "../support/console/browser.ts";
import { dropFiles } from "../support/console/drop-files.ts";
import { serveConsole } from "../support/console/served-console.ts";
import { startSql } from "../support/console/start-sql.ts";
import { useBrowser } from "../support/console/use-browser.ts";
import { serveCutting } from "../support/http/cutting-proxy.ts";
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
/** Two parts: 16 MiB and the rest. */
const UPLOAD_BYTES = Number(process.env["PORTSIDE_UPLOAD_MIB"] ?? 20) * MiB;

test("signs in, deploys by drop, fixes a failed deploy, rolls back, uploads, queries, reads the costs and deletes", async () => {
  await using platform = await startLocal({ runner: "process" });
  await using direct = await serveConsole(platform.local.ports);
  await startSql(direct);
  await direct.client.createVolume({ name: "story-data" });
  let connections = 0;
  await using proxy = await serveCutting(await storagePortOf(direct, "story-data"), () =>
    ++connections <= 3 ? 10 * MiB : undefined,
  );
  await using served = await serveThrough(platform, proxy.port);
  await using opened = await openSignIn(browser(), served);
  using folder = folderWith(filesOf(server("first version")));
  const name = "console-story";
  const { page } = opened;

  await page.getByLabel("API key").fill(served.key);
  await page.getByRole("button", { name: "Sign in" }).click();
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

  await page.getByRole("link", { name: "Volumes", exact: true }).click();
  await page.getByRole("link", { name: "story-data", exact: true }).click();
  using large = folderWith();
  const content = randomBytes(UPLOAD_BYTES);
  writeFileSync(join(large.path, "large.bin"), content);
  await dropFiles(page, ".upload-drop", [join(large.path, "large.bin")]);
  await page.getByText("1 of 1 done").waitFor({ timeout: 300_000 });
  expect(proxy.cuts).toBeGreaterThanOrEqual(2);
  const { url } = await served.client.grantDownload({ volume: "story-data", path: "large.bin" });
  const hash = createHash("sha256");
  for await (const chunk of (await fetch(url)).body ?? []) hash.update(chunk);
  expect(hash.digest("hex")).toBe(createHash("sha256").update(content).digest("hex"));

  await page.getByRole("link", { name: "SQL", exact: true }).click();
  const editor = page.locator(".cm-content");
  await editor.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText("SELECT COUNT(*) AS n FROM logs WHERE text_payload = 'no database'");
  await page.keyboard.press("Control+Enter");
  await page.getByText("1 row in").waitFor(LONG);
  await expect.poll(() => page.locator(".result-row > td").first().textContent()).toBe("1");
  await page.getByRole("link", { name: "Cost", exact: true }).click();
  await page.getByText("Models, USD").first().waitFor(LONG);

  await page.getByRole("link", { name: "Deployments", exact: true }).click();
  await page.getByRole("link", { name, exact: true }).click();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByLabel(`Type ${name} to confirm`).fill(name);
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("No deployments yet").waitFor();
  expect(opened.problems).toEqual([]);
});
