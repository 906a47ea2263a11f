/** The pages of volumes: folders, uploads through signed URLs, previews, downloads and the trash. */
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AccountId } from "../../core/domain/accounts/account.ts";
import { createClient } from "../../hosts/client/index.ts";
import { folderWith } from "../support/archives/folders.ts";
import { type ConsolePage, openConsole } from "../support/console/browser.ts";
import { dropFiles } from "../support/console/drop-files.ts";
import { storeObject } from "../support/console/seed.ts";
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

/** A red pixel. */
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

test("previews text and images, downloads an object, and deletes it", async () => {
  await served.client.createVolume({ name: "previews" });
  await storeObject(served, "previews", "folder/notes.html", "<script>document.title='executed'</script>\u202e");
  await storeObject(served, "previews", "folder/pixel.png", new Uint8Array(Buffer.from(PIXEL, "base64")));
  await storeObject(served, "previews", "folder/data.bin", new Uint8Array([0, 255, 1]));
  await storeObject(served, "previews", "folder/long.txt", `${"é".repeat(40_000)}end`);
  await using opened = await open("#/volumes/previews");
  const { page } = opened;
  await page.getByRole("link", { name: "folder/" }).click();
  await page.getByRole("link", { name: "notes.html" }).click();
  await page.getByText("<script>document.title='executed'</script>").waitFor();
  expect(await page.locator(".preview .control").textContent()).toBe("U+202E");
  expect(await page.title()).toBe("previews · Portside");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download" }).click(),
  ]);
  expect(download.suggestedFilename()).toBe("notes.html");
  expect(await readFile((await download.path()) as string, "utf8")).toMatch(/^<script>/);

  await page.getByRole("link", { name: "folder", exact: true }).click();
  await page.getByRole("link", { name: "pixel.png" }).click();
  const image = page.getByRole("img", { name: "Preview of pixel.png" });
  await expect.poll(() => image.evaluate((element) => (element as HTMLImageElement).naturalWidth)).toBe(1);
  await opened.open("#/volumes/previews?object=folder%2Fdata.bin");
  await page.getByText("The object is not text.").waitFor();
  await opened.open("#/volumes/previews?object=folder%2Flong.txt");
  await page.getByText("The preview shows the first 64 KiB.").waitFor();
  expect(await page.locator(".preview").textContent()).toBe("é".repeat(32 * 1024));

  await page.getByRole("button", { name: "Delete", exact: true }).press("Enter");
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).press("Enter");
  await page.getByRole("link", { name: "data.bin" }).waitFor();
  expect(await page.getByRole("link", { name: "long.txt" }).count()).toBe(0);
  expect(opened.problems).toEqual([]);
});

test("shows hostile names as text, and fits them into a window of 360 pixels", async () => {
  await served.client.createVolume({ name: "hostile" });
  const name = `<img src=x onerror="document.title='executed'">`;
  await storeObject(served, "hostile", `${name}/${"w".repeat(200)}`, "text");
  await storeObject(served, "hostile", "\u202egnp.exe", "text");
  await using opened = await open("#/volumes/hostile", { viewport: { width: 360, height: 700 } });
  const { page } = opened;
  await page.getByText("U+202E").waitFor();
  await page.getByRole("link", { name: "<img src=x" }).click();
  await page.getByRole("link", { name: "www" }).click();
  await page.getByRole("button", { name: "Download" }).waitFor();
  expect(await page.title()).toBe("hostile · Portside");
  expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
  expect(opened.problems).toEqual([]);
});

test("uploads dropped files, and asks before it replaces an object", async () => {
  await served.client.createVolume({ name: "dropped" });
  await storeObject(served, "dropped", "in/a.txt", "before");
  await using opened = await open("#/volumes/dropped?folder=in%2F");
  const { page } = opened;
  await page.getByRole("link", { name: "a.txt" }).waitFor();
  const drop = async (): Promise<void> => {
    const transfer = await page.evaluateHandle(`(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File(["after"], "a.txt"));
      transfer.items.add(new File(["new"], "b.txt"));
      return transfer;
    })()`);
    await page.getByRole("region", { name: "Upload", exact: true }).dispatchEvent("drop", { dataTransfer: transfer });
  };
  await drop();
  await page.getByRole("dialog").getByText("in/a.txt").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  expect(String(await read("dropped", "in/a.txt"))).toBe("before");
  await drop();
  await page.getByRole("dialog").getByRole("button", { name: "Replace" }).click();
  await page.getByText("2 of 2 done").waitFor();
  expect(String(await read("dropped", "in/a.txt"))).toBe("after");
  expect(String(await read("dropped", "in/b.txt"))).toBe("new");
  expect(opened.problems).toEqual([]);
});

test("refuses a name that is not a valid object path, and uploads nothing", async () => {
  await served.client.createVolume({ name: "names" });
  await using opened = await open("#/volumes/names");
  const { page } = opened;
  await page.getByLabel("Files to upload").setInputFiles([
    { name: "good.txt", mimeType: "text/plain", buffer: Buffer.from("x") },
    { name: `${"n".repeat(300)}.txt`, mimeType: "text/plain", buffer: Buffer.from("x") },
  ]);
  await page.getByRole("alert").getByText("at most 255 bytes").waitFor();
  expect((await served.client.listObjects({ volume: "names" })).objects).toEqual([]);
});

/** Holds the requests that store objects until `release` is called. */
const holdPuts = async ({ page }: ConsolePage) => {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  let held = 0;
  await page.route("**", async (route) => {
    if (route.request().method() !== "PUT") return route.continue();
    held++;
    await promise;
    // The page may have aborted the request.
    await route.continue().catch(() => undefined);
  });
  return { release, held: () => held };
};

const textFiles = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    name: `${at}.txt`,
    mimeType: "text/plain",
    buffer: Buffer.from(String(at)),
  }));

test("ends the uploads of an account when another account signs in", async () => {
  const { key } = (await served.memory.ports.identity.keys.create("other" as AccountId, "other"))._unsafeUnwrap();
  const other = createClient({ url: served.url, key });
  for (const client of [served.client, other]) await client.createVolume({ name: "same-name" });
  await using opened = await open("#/volumes/same-name");
  const { page } = opened;
  const puts = await holdPuts(opened);
  await page.getByLabel("Files to upload").setInputFiles(textFiles(5));
  await expect.poll(puts.held).toBe(3);
  await page.goto((await other.createConsoleLink()).url);
  await page.getByRole("button", { name: "Use the link" }).click();
  await expect.poll(() => page.locator(".account").textContent()).toBe("other");
  puts.release();
  await page.evaluate(`location.hash = "#/volumes/same-name"`);
  await page.getByText("The volume is empty.").waitFor();
  expect(await page.getByRole("heading", { name: "Uploads" }).count()).toBe(0);
  // An upload of the new account would start after the waiting ones.
  await page.getByLabel("Files to upload").setInputFiles({ ...textFiles(1)[0], name: "own.txt" } as never);
  await page.getByText("1 of 1 done").waitFor();
  expect((await other.listObjects({ volume: "same-name" })).objects.map(({ path }) => path)).toEqual(["own.txt"]);
  expect(opened.problems).toEqual([]);
});

test("keeps the list of objects while files are stored, and then lists the new ones", async () => {
  await served.client.createVolume({ name: "many-files" });
  await storeObject(served, "many-files", "before.txt", "before");
  await using opened = await open("#/volumes/many-files");
  const { page } = opened;
  await page.getByRole("link", { name: "before.txt" }).waitFor();
  const lists: string[] = [];
  page.on("request", (request) => {
    if (request.url().includes("/v1/volume/objects")) lists.push(request.url());
  });
  await page.evaluate(`
    globalThis.removals = 0;
    const before = document.querySelector(".objects");
    new MutationObserver(() => { if (!before.isConnected) globalThis.removals++; })
      .observe(document.querySelector("main"), { childList: true, subtree: true });
  `);
  await page.getByLabel("Files to upload").setInputFiles(textFiles(40));
  await page.getByRole("link", { name: "39.txt" }).waitFor();
  expect(await page.evaluate("globalThis.removals")).toBe(0);
  // One request looks for objects that the files replace. Without a delay, each file causes one more.
  expect(lists.length).toBeLessThan(20);
});

test("asks before it replaces an object that is not on the first page of a large folder", async () => {
  await served.client.createVolume({ name: "large-folder" });
  await storeObject(served, "large-folder", "0.txt", "before");
  await using opened = await open("#/volumes/large-folder");
  const { page } = opened;
  await page.getByRole("link", { name: "0.txt" }).waitFor();
  const firstPage = { objects: [{ path: "!", size: 1, updated: new Date().toISOString() }], folders: [] };
  await page.route("**/v1/volume/objects?*delimiter*", (route) =>
    route.fulfill({ json: { ...firstPage, next_page_token: "more" } }),
  );
  await page.getByLabel("Files to upload").setInputFiles(textFiles(2));
  const dialog = page.getByRole("dialog");
  await dialog.getByText("0.txt").waitFor();
  expect(await dialog.getByText("1.txt").count()).toBe(0);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  expect(String(await read("large-folder", "0.txt"))).toBe("before");
});

test("uploads a dropped folder with its folders", async () => {
  await served.client.createVolume({ name: "dropped-folder" });
  using folder = folderWith({ "a.txt": "a", "deep/er/b.txt": "b" });
  await using opened = await open("#/volumes/dropped-folder");
  const { page } = opened;
  await dropFiles(page, ".upload-drop", [folder.path]);
  await page.getByText("2 of 2 done").waitFor();
  const { objects } = await served.client.listObjects({ volume: "dropped-folder" });
  const name = basename(folder.path);
  expect(objects.map(({ path }) => path)).toEqual([`${name}/a.txt`, `${name}/deep/er/b.txt`]);
});

test("a double click on Show more objects loads one page", async () => {
  await served.client.createVolume({ name: "many-pages" });
  await using opened = await open("#/volumes");
  const { page } = opened;
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  await page.route("**/v1/volume/objects?*", async (route) => {
    const token = new URL(route.request().url()).searchParams.get("page_token") ?? "";
    if (token !== "") await held;
    const object = { path: token === "" ? "a.txt" : "b.txt", size: 1, updated: new Date().toISOString() };
    await route.fulfill({ json: { objects: [object], folders: [], next_page_token: token === "" ? "next" : null } });
  });
  await opened.open("#/volumes/many-pages");
  const more = page.getByRole("button", { name: "Show more objects" });
  await more.click();
  await more.click({ force: true });
  release();
  await page.getByRole("link", { name: "b.txt" }).first().waitFor();
  await more.waitFor({ state: "detached" });
  expect(await page.getByRole("link", { name: "b.txt" }).count()).toBe(1);
});
