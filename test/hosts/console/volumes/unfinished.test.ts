/** Uploads that the browser may resume after a reload. */
import { expect, test } from "vitest";
import { UnfinishedUploads } from "../../../../hosts/console/volumes/unfinished.ts";
import { memoryStorage } from "../../../support/console/storage.ts";

const file = { volume: "data", path: "big.bin", size: 100, modified: 1 };

test("remembers an upload until it is complete", async () => {
  const uploads = new UnfinishedUploads(memoryStorage(), "key");
  const journal = uploads.journalOf(file);
  expect(await journal.read()).toBeUndefined();
  await journal.write("id-1");
  expect(await new UnfinishedUploads(memoryStorage(), "key").journalOf(file).read()).toBeUndefined();
  expect(await uploads.journalOf(file).read()).toBe("id-1");
  expect(uploads.list()).toEqual([{ ...file, id: "id-1" }]);
  await journal.clear();
  expect(uploads.list()).toEqual([]);
});

test.each([{ size: 101 }, { modified: 2 }, { path: "other" }, { volume: "other" }])(
  "does not resume with a different file: %j",
  async (change) => {
    const uploads = new UnfinishedUploads(memoryStorage(), "key");
    await uploads.journalOf(file).write("id-1");
    expect(await uploads.journalOf({ ...file, ...change }).read()).toBeUndefined();
  },
);

test("replaces the upload of an earlier version of the file", async () => {
  const uploads = new UnfinishedUploads(memoryStorage(), "key");
  await uploads.journalOf(file).write("id-1");
  await uploads.journalOf({ ...file, modified: 2 }).write("id-2");
  expect(uploads.list().map(({ id }) => id)).toEqual(["id-2"]);
});

test.each(["not JSON", "{}", '[null, {"volume": 1}]'])("ignores a stored value that is damaged: %s", (value) => {
  const storage = memoryStorage();
  storage.setItem("key", value);
  expect(new UnfinishedUploads(storage, "key").list()).toEqual([]);
});

test("uploads without a journal if the storage is full", async () => {
  const uploads = new UnfinishedUploads(
    memoryStorage(() => true),
    "key",
  );
  await uploads.journalOf(file).write("id-1");
  expect(uploads.list()).toEqual([]);
});
