/** Deploying from the console: by drop, by file input and by keyboard, with the settings of the form. */
import { randomBytes } from "node:crypto";
import { chmodSync } from "node:fs";
import { basename, join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { packFolder } from "../../hosts/cli/deploy/pack.ts";
import { sourceOf } from "../support/archives/archives.ts";
import { type Folder, folderWith } from "../support/archives/folders.ts";
import { type ConsolePage, openConsole } from "../support/console/browser.ts";
import { dropFiles } from "../support/console/drop-files.ts";
import { type MemoryConsole, serveMemoryConsole } from "../support/console/served-console.ts";
import { useBrowser } from "../support/console/use-browser.ts";

const browser = useBrowser();
let served: MemoryConsole;
let folder: Folder;
beforeAll(async () => {
  served = await serveMemoryConsole();
  folder = folderWith({
    "server.js": "run()",
    "bin/start": "#!/bin/sh\nexec node server.js\n",
    "lib/größe/datei.txt": "x".repeat(70_000),
    ".gitignore": "build/\n*.log\n",
    "build/large.bin": "not deployed",
    "lib/debug.log": "not deployed",
    "node_modules/left-pad/index.js": "not deployed",
    ".env": "SECRET=not deployed",
  });
  // The modes on this disk must not count, because a browser does not know them.
  chmodSync(join(folder.path, "server.js"), 0o755);
});
afterAll(async () => {
  folder?.[Symbol.dispose]();
  await served?.[Symbol.asyncDispose]();
});

const open = async (fragment: string): Promise<ConsolePage> => {
  const opened = await openConsole(browser(), served, { permissions: ["clipboard-read", "clipboard-write"] });
  await opened.open(fragment);
  return opened;
};

const finished = async (page: Page, name: string): Promise<void> => {
  await page.getByRole("heading", { name: `Deploy of ${name}` }).waitFor();
  await page.getByText("serves all traffic").first().waitFor();
};

const newestRelease = async (name: string) => (await served.client.listReleases({ name })).releases[0];

test("deploys a folder that is dropped on the deployments, with the bytes that the command line sends", async () => {
  await using opened = await open("#/");
  const { page } = opened;
  await dropFiles(page, ".page-drop", [folder.path]);
  await page.getByText(`${basename(folder.path)}, 4 files`).waitFor();
  await page.getByLabel("Name").fill("dropped-app");
  await page.getByRole("button", { name: "Deploy", exact: true }).click();
  await finished(page, "dropped-app");
  expect(opened.problems).toEqual([]);

  await using packed = await packFolder(folder.path);
  const archive = Buffer.concat(await Array.fromAsync(packed.open()));
  await served.deploy("packed-by-cli", { source_archive: new Blob([new Uint8Array(archive)]) });
  const digest = (await newestRelease("packed-by-cli"))?.source_digest;
  expect(digest).toMatch(/[0-9a-f]{64}/);
  expect((await newestRelease("dropped-app"))?.source_digest).toBe(digest);
});

/** Opens the form with a limit of about 1 KiB for sources in requests. */
const openWithLowLimit = async (): Promise<ConsolePage> => {
  const opened = await open("#/");
  await opened.page.route("**/assets/*.js", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: (await response.text()).replaceAll("fileBytes:100*", "fileBytes:.001*") });
  });
  await opened.page.goto(`${served.url}/console/#/deploy`);
  await opened.page.reload();
  return opened;
};

test("deploys a source over the limit through a volume, and deletes the object", async () => {
  await using opened = await openWithLowLimit();
  const { page } = opened;
  const file = { "server.js": "run()", "random.txt": randomBytes(20_000).toString("base64") };
  using large = folderWith(file);
  await page.getByLabel("Folder", { exact: true }).setInputFiles(large.path);
  await page.getByLabel("Name").fill("large-app");
  const objects = async () => (await served.client.listObjects({ volume: "portside-sources" })).objects;

  // The storage does not answer until the user cancels.
  const storage = (url: URL): boolean => url.origin !== new URL(served.url).origin;
  await page.route(storage, () => {});
  await page.getByRole("button", { name: "Deploy", exact: true }).click();
  await page.getByText("to the volume 'portside-sources'…").waitFor();
  await page.getByRole("button", { name: "Cancel the deploy" }).click();
  await page.getByText("The deploy was cancelled. To start over, choose Deploy again.").waitFor();
  await page.unroute(storage);
  expect(await objects()).toEqual([]);

  await page.getByRole("button", { name: "Deploy", exact: true }).click();
  await finished(page, "large-app");
  await page
    .getByText(/Fetching the source 'portside-sources\/large-app\/[0-9a-f-]{36}\.tar\.gz'/)
    .first()
    .waitFor();
  await expect.poll(objects).toEqual([]);
  expect(opened.problems).toEqual([]);
});

test("deploys a folder and a tar.gz that are chosen by file inputs", async () => {
  await using opened = await open("#/deploy");
  const { page } = opened;
  await page.getByLabel("Folder").setInputFiles(folder.path);
  await page.getByText(`${basename(folder.path)}, 4 files`).waitFor();
  await page
    .getByLabel("Archive")
    .setInputFiles({ name: "chosen_app.tar.gz", mimeType: "application/gzip", buffer: sourceOf({ "index.js": "" }) });
  await page.getByText("chosen_app.tar.gz").waitFor();
  await page.getByLabel("Name").fill("chosen-app");
  await page.getByRole("button", { name: "Deploy", exact: true }).click();
  await finished(page, "chosen-app");
});

test("keeps the source that was chosen last, if an earlier one takes longer to read", async () => {
  using project = folderWith({ "portside.json": JSON.stringify({ name: "slow-check", volumes: {} }), "server.js": "" });
  await using opened = await open("#/deploy");
  const { page } = opened;
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  await page.route("**/v1/deploy/plan", async (route) => {
    await held;
    await route.continue();
  });
  const checked = page.waitForResponse("**/v1/deploy/plan");
  await page.getByLabel("Folder").setInputFiles(project.path);
  await page.getByText("Reading the files…").waitFor();
  await page
    .getByLabel("Archive")
    .setInputFiles({ name: "second.tar.gz", mimeType: "application/gzip", buffer: sourceOf({ "index.js": "" }) });
  await page.getByRole("strong").getByText("second.tar.gz").waitFor();
  release();
  await (await checked).finished();
  // The page has handled the response when it handles a later one.
  await page.getByLabel("Name").fill("Not valid");
  await page.getByRole("alert").getByText("lowercase letters").waitFor();
  await page.getByRole("strong").getByText("second.tar.gz").waitFor();
});

test("states why a file cannot be deployed", async () => {
  await using opened = await open("#/deploy");
  const { page } = opened;
  await page
    .getByLabel("Archive")
    .setInputFiles({ name: "a.zip", mimeType: "application/zip", buffer: Buffer.from("") });
  await page.getByRole("alert").getByText("'a.zip' is not a tar.gz. Choose a folder or a tar.gz.").waitFor();
  using empty = folderWith({ "node_modules/x.js": "" });
  await page.getByLabel("Folder").setInputFiles(empty.path);
  await page.getByRole("alert").getByText("The folder has no files to deploy.").waitFor();
});

test("fills in the settings of portside.json, and packs the folder that it names", async () => {
  using project = folderWith({
    "portside.json": JSON.stringify({
      name: "declared-app",
      source: "./app",
      memory: "512Mi",
      volumes: { "/data": "declared-data" },
      env: { GREETING: "hello" },
      schedule: { cron: "0 9 * * 1-5" },
      health: { path: "/healthz" },
    }),
    "app/server.js": "run()",
    "README.md": "",
  });
  await using opened = await open("#/deploy");
  const { page } = opened;
  await page.getByLabel("Folder").setInputFiles(project.path);
  await page.getByText(", 1 file").waitFor();
  expect(await page.getByLabel("Name").inputValue()).toBe("declared-app");
  await page.getByRole("button", { name: "Deploy", exact: true }).click();
  await finished(page, "declared-app");
  expect(await served.client.getDeployment({ name: "declared-app" })).toMatchObject({
    memory: "512Mi",
    volumes: { "/data": { name: "declared-data" } },
    env: ["GREETING"],
    schedule: { cron: "0 9 * * 1-5" },
    health: { path: "/healthz" },
  });
});

test("accepts a portside.json without volumes, as the command line does", async () => {
  using project = folderWith({ "portside.json": JSON.stringify({ name: "no-volumes" }), "server.js": "" });
  await using opened = await open("#/deploy");
  const { page } = opened;
  await page.getByLabel("Folder").setInputFiles(project.path);
  await page.getByText(", 1 file").waitFor();
  expect(await page.getByLabel("Name").inputValue()).toBe("no-volumes");
});

test("rejects an invalid portside.json with its fields, and chooses nothing", async () => {
  const project = { name: "invalid-app", memmory: "1Gi", volumes: { "/data": null }, timeout: 0 };
  using folder = folderWith({ "portside.json": JSON.stringify(project), "server.js": "" });
  await using opened = await open("#/deploy");
  const { page } = opened;
  await page.getByLabel("Folder").setInputFiles(folder.path);
  const alert = page.getByRole("alert").filter({ hasText: "portside.json is invalid." });
  for (const field of ["memmory: ", "volumes./data: ", "timeout: "]) await alert.getByText(field).waitFor();
  await page.getByText("Drop a folder or a tar.gz here.").waitFor();
  expect(await page.getByLabel("Name").inputValue()).toBe("");
});

test("deploys the example from the empty list, with the keyboard only", async () => {
  await using empty = await serveMemoryConsole();
  await using opened = await openConsole(browser(), empty);
  const { page } = opened;
  await page.getByRole("link", { name: "Deploy the example" }).press("Enter");
  await page.getByText("hello, 2 files").waitFor();
  const name = page.getByLabel("Name");
  await page.getByRole("button", { name: "Use the example" }).focus();
  await page.keyboard.press("Tab");
  expect(await name.evaluate((input) => input === document.activeElement)).toBe(true);
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.type("first-app");
  await page.keyboard.press("Enter");
  await finished(page, "first-app");
});

test("reports a name that is not available before the deploy", async () => {
  await using opened = await open("#/deploy");
  const { page } = opened;
  await page.getByLabel("Name").fill("Not valid");
  await page.getByRole("alert").getByText("lowercase letters").waitFor();
});

test("shows the problems of the settings at their fields, and the plan of the corrected ones", async () => {
  await served.deploy("tuned-app", { env: { A: "1" }, volumes: { "/data": "tuned-data" } });
  await using opened = await open("#/deployments/tuned-app/settings");
  const { page } = opened;
  await page.getByLabel("Memory").fill("much");
  await page.getByLabel("Timeout").fill("9000");
  await page.getByRole("button", { name: "Show the plan" }).click();
  await page.getByRole("alert").getByText("must be a quantity such as '512Mi'").waitFor();
  await page.getByRole("alert").getByText("must be an integer from 1 to 3600").waitFor();
  expect(await page.getByLabel("Memory").getAttribute("aria-invalid")).toBe("true");
  expect(await page.getByLabel("Port").getAttribute("aria-invalid")).toBe("false");

  await page.getByLabel("Memory").fill("2Gi");
  await page.getByLabel("Timeout").fill("60");
  await page.getByLabel("Use a health check").check();
  await page.getByLabel("Path", { exact: true }).fill("/ready");
  await page.getByRole("button", { name: "Add a mount" }).click();
  await page.getByLabel("Mount path").last().fill("/cache");
  await page.getByLabel("Volume").last().fill("tuned-cache");
  await page.getByRole("button", { name: "Show the plan" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("row", { name: /memory 1Gi 2Gi/ }).waitFor();
  await dialog.getByText("Create volume 'tuned-cache'").waitFor();
  expect(await dialog.getByText("Replace memory").count()).toBe(0);
  // A deploy needs a source.
  expect(await dialog.getByRole("button", { name: "Deploy" }).isDisabled()).toBe(true);
  await dialog.getByRole("button", { name: "Cancel" }).click();

  await dropFiles(page, ".source-drop", [folder.path]);
  await page.getByText(", 4 files").waitFor();
  await page.getByRole("button", { name: "Show the plan" }).click();
  await dialog.getByRole("button", { name: "Deploy" }).click();
  await finished(page, "tuned-app");
  expect(await served.client.getDeployment({ name: "tuned-app" })).toMatchObject({
    memory: "2Gi",
    timeout: 60,
    env: ["A"],
    health: { path: "/ready", interval: 10 },
    volumes: { "/data": { name: "tuned-data" }, "/cache": { name: "tuned-cache" } },
  });
});

test("rejects two mounts with one path before the request", async () => {
  await served.deploy("twice-app", { volumes: { "/data": "twice-data" } });
  await using opened = await open("#/deployments/twice-app/settings");
  const { page } = opened;
  await page.getByRole("button", { name: "Add a mount" }).click();
  await page.getByLabel("Mount path").last().fill("/data");
  await page.getByRole("button", { name: "Show the plan" }).click();
  await page.getByRole("alert").getByText("'/data' occurs twice. Remove one.").waitFor();
});

test("shows the plan before a deploy of a name that already exists", async () => {
  await served.deploy("existing-app", { memory: "4Gi" });
  await using opened = await open("#/deploy?source=example");
  const { page } = opened;
  await page.getByLabel("Name").fill("existing-app");
  await page.getByRole("button", { name: "Deploy", exact: true }).click();
  await page
    .getByRole("dialog")
    .getByRole("row", { name: /memory 4Gi 1Gi/ })
    .waitFor();
});

test("changes some variables without a source, and keeps the others", async () => {
  await served.client.setSecret({ name: "STRIPE_KEY", value: "sk_test" });
  await served.deploy("varied-app", { env: { KEPT: "1", GONE: "2" } });
  await using opened = await open("#/deployments/varied-app/settings");
  const { page } = opened;
  await page.getByRole("checkbox", { name: "Remove GONE" }).check();
  for (const name of ["LEVEL", "API_KEY"]) {
    await page.getByRole("button", { name: "Add a variable" }).click();
    await page.getByLabel("Variable", { exact: true }).last().fill(name);
  }
  await page.getByLabel("Value", { exact: true }).first().fill("debug");
  await page.getByLabel("Kind").last().selectOption("Secret");
  await page.getByLabel("Secret", { exact: true }).last().fill("STRIPE_KEY");
  await page.getByRole("button", { name: "Change the variables" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Add API_KEY").waitFor();
  await dialog.getByText("Remove GONE").waitFor();
  await dialog.getByRole("button", { name: "Change", exact: true }).click();
  await finished(page, "varied-app");
  expect((await served.client.getDeployment({ name: "varied-app" })).env).toEqual(["API_KEY", "KEPT", "LEVEL"]);
  expect((await newestRelease("varied-app"))?.secrets).toEqual({ STRIPE_KEY: 1 });
});

test("copies a deploy as curl, as a command and as portside.json", async () => {
  await served.deploy("copied-app");
  await using opened = await open("#/deployments/copied-app/settings");
  const { page } = opened;
  const copied = async (label: string): Promise<string> => {
    await page
      .getByRole("button", { name: `Copy ${label}` })
      .first()
      .click();
    await page.getByRole("status").getByText(`Copied: ${label}`).waitFor();
    return page.evaluate("navigator.clipboard.readText()");
  };
  expect(await copied("CLI")).toBe("portside deploy . --name copied-app");
  expect(JSON.parse(await copied("portside.json"))).toMatchObject({ name: "copied-app", memory: "1Gi", volumes: {} });
  expect(await copied("curl")).toMatch(
    /--form-string memory=1Gi .*--form-string 'volumes=\{\}' .*-F source_archive=@source\.tar\.gz$/,
  );
});
