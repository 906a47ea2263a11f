/** Where sources wait: in a bucket where the disk is memory, and said where that was not wanted. */
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { memoryDisk, spoolPlace } from "../../../../adapters/shared/archives/spool-place.ts";
import { folderWith } from "../../../support/archives/folders.ts";

const MEMORY = "/dev/shm";
const onCloudRun = { K_SERVICE: "portside" };

test("on a disk they stay there, unless the bucket is wanted", () => {
  using folder = folderWith();
  if (memoryDisk(folder.path, {}) !== undefined) return expect(memoryDisk("/", {})).toBeUndefined();
  expect(spoolPlace("auto", folder.path, "b", {})).toMatchObject({ in: "disk", finding: { verdict: "ok" } });
  expect(spoolPlace("bucket", folder.path, "b", {})).toMatchObject({ in: "bucket", finding: { verdict: "ok" } });
});

test("on Cloud Run they go to the bucket; kept on its disk, that is warned of with the way out", () => {
  const chosen = spoolPlace("auto", "/data", "the-bucket", onCloudRun);
  expect(chosen).toMatchObject({ in: "bucket", finding: { verdict: "ok" } });
  expect(chosen.finding.words).toMatch(/the-bucket, because this is Cloud Run/);
  expect(spoolPlace("disk", "/data", "b", onCloudRun)).toMatchObject({
    in: "disk",
    finding: { verdict: "warning", fix: "portside serve --source-spool bucket" },
  });
});

test.runIf(existsSync(MEMORY))("a folder that is yet to be made is judged by the one above it", () => {
  expect(memoryDisk(`${MEMORY}/not/there/yet`, {})).toContain("is on a disk in memory");
});
