/** Uploads of large files to the local provider, through connections that break or stall. */
import { createHash, randomBytes } from "node:crypto";
import { createReadStream, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { MiB } from "../../core/domain/accounts/limits.ts";
import { folderWith } from "../support/archives/folders.ts";
import { serveThrough, storagePortOf } from "../support/console/breaking-storage.ts";
import { openConsole } from "../support/console/browser.ts";
import { type ServedConsole, serveConsole } from "../support/console/served-console.ts";
import { useBrowser } from "../support/console/use-browser.ts";
import { serveCutting } from "../support/http/cutting-proxy.ts";
import { startLocal, type TestPlatform } from "../support/providers/local-platform.ts";

/** Three parts: 16, 16 and 8 MiB. */
const SIZE = 40 * MiB;

const browser = useBrowser();
const folder = folderWith();
const file = join(folder.path, "large.bin");
let platform: TestPlatform;
let served: ServedConsole;
beforeAll(async () => {
  platform = await startLocal();
  served = await serveConsole(platform.local.ports);
  await served.client.createVolume({ name: "large" });
  writeFileSync(file, randomBytes(SIZE));
});
afterAll(async () => {
  await served?.[Symbol.asyncDispose]();
  await platform?.[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const digestOf = async (chunks: AsyncIterable<Uint8Array>): Promise<string> => {
  const hash = createHash("sha256");
  for await (const chunk of chunks) hash.update(chunk);
  return hash.digest("hex");
};

const storedDigest = async (): Promise<string> => {
  const { url } = await served.client.grantDownload({ volume: "large", path: "large.bin" });
  return digestOf((await fetch(url)).body as AsyncIterable<Uint8Array>);
};

/** Opens the volume. Returns the page, and the numbers of the parts that it sends. */
const openVolume = async (through: ServedConsole) => {
  const opened = await openConsole(browser(), through);
  await opened.open("#/volumes/large");
  const sent: string[] = [];
  opened.page.on("request", (request) => {
    const number = new URL(request.url()).searchParams.get("part");
    if (request.method() === "PUT" && number !== null) sent.push(number);
  });
  await opened.page.getByText("Drop files or folders here").waitFor();
  return { ...opened, sent };
};

test("uploads a file although connections break, and sends complete parts once", async () => {
  let connections = 0;
  await using proxy = await serveCutting(await storagePortOf(served, "large"), () =>
    ++connections <= 3 ? 20 * MiB : undefined,
  );
  await using through = await serveThrough(platform, proxy.port);
  await using opened = await openVolume(through);
  const { page, sent } = opened;
  await page.getByLabel("Files to upload").setInputFiles(file);
  await page.getByText("1 of 1 done").waitFor({ timeout: 60_000 });
  expect(proxy.cuts).toBeGreaterThanOrEqual(2);
  expect(sent.filter((part) => part === "1")).toHaveLength(1);
  expect(await storedDigest()).toBe(await digestOf(createReadStream(file)));
});

test("pauses, resumes, and continues after a reload with the parts that are missing", async () => {
  let limit: number | undefined = 20 * MiB;
  await using proxy = await serveCutting(await storagePortOf(served, "large"), () => limit, true);
  await using through = await serveThrough(platform, proxy.port);
  await using opened = await openVolume(through);
  const { page, sent } = opened;
  await page.getByLabel("Files to upload").setInputFiles(file);
  await page.getByRole("button", { name: "Replace", exact: true }).click();
  // The second part stalls.
  await expect.poll(() => sent.includes("2")).toBe(true);
  await page.getByRole("button", { name: "Pause large.bin" }).click();
  await page.getByText(/^Paused/).waitFor();
  await page.getByRole("button", { name: "Resume large.bin" }).click();
  await expect.poll(() => sent).toEqual(["1", "2", "2", "3"]);

  await page.reload();
  await page.getByText("choose the file again to continue").waitFor();
  using other = folderWith({ "large.bin": "another file" });
  await page.getByLabel("File of large.bin", { exact: true }).setInputFiles(join(other.path, "large.bin"));
  await page.getByRole("alert").getByText("is not the file of this upload").waitFor();
  limit = undefined;
  await page.getByLabel("File of large.bin", { exact: true }).setInputFiles(file);
  await page.getByText("1 of 1 done").waitFor({ timeout: 60_000 });
  expect(sent).toEqual(["1", "2", "2", "3", "3"]);
  expect(await storedDigest()).toBe(await digestOf(createReadStream(file)));
  expect(await page.evaluate("Object.entries(localStorage).filter(([key]) => key.includes(' uploads '))")).toEqual([
    [expect.any(String), "[]"],
  ]);
});
