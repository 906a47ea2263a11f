/** The pages of volumes: folders, uploads through signed URLs, previews, downloads and the trash. */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { folderWith } from "../support/archives/folders.ts";
import { type ConsolePage, openConsole } from "../support/console/browser.ts";
import { type MemoryConsole, serveMemoryConsole } from "../support/console/served-console.ts";
import { useBrowser } from "../support/console/use-browser.ts";

const browser = useBrowser();
let served: MemoryConsole;
beforeAll(async () => {
  served = await serveMemoryConsole();
});
afterAll(() => served?.[Symbol.asyncDispose]());

const open = async (fragment: string, options?: Parameters<typeof openConsole>[2]): Promise<ConsolePage> => {
  const opened = await openConsole(browser(), served, options);
  await opened.open(fragment);
  return opened;
};

/** Stores an object through a signed URL. */
const store = async (volume: string, path: string, body: string | Uint8Array<ArrayBuffer>): Promise<void> => {
  const grant = await served.client.grantUpload({ volume, object: path });
  if (!("url" in grant)) throw new Error("the upload has parts");
  expect((await fetch(grant.url, { method: "PUT", body })).ok).toBe(true);
};

const read = async (volume: string, path: string): Promise<Buffer> => {
  const { url } = await served.client.grantDownload({ volume, path });
  return Buffer.from(await (await fetch(url)).arrayBuffer());
};

test("creates a volume, uploads files, and deletes and restores the volume", async () => {
  await using opened = await open("#/volumes");
  const { page } = opened;
  await page.getByText("No volumes yet").waitFor();
  await page.getByRole("button", { name: "Create volume" }).click();
  await page.getByLabel("Name").fill("page-data");
  await page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
  await page.getByText("The volume is empty.").waitFor();
  using folder = folderWith({ "figures.csv": "a,b\n1,2\n", "notes.txt": "notes" });
  await page
    .getByLabel("Files to upload")
    .setInputFiles([join(folder.path, "figures.csv"), join(folder.path, "notes.txt")]);
  await page.getByText("2 of 2 done").waitFor();
  await page.getByRole("link", { name: "figures.csv" }).waitFor();
  expect(String(await read("page-data", "figures.csv"))).toBe("a,b\n1,2\n");

  await page.getByRole("button", { name: "Delete volume" }).click();
  await page.getByLabel("Type page-data to confirm").fill("page-data");
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Restore page-data" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Restore" }).click();
  await page.getByText("The trash is empty.").waitFor();
  await page.getByRole("link", { name: "page-data" }).click();
  await page.getByRole("link", { name: "notes.txt" }).waitFor();
  expect(opened.problems).toEqual([]);
});
