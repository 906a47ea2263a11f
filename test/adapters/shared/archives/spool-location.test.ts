/** The place of the spool: a bucket if the disk is in memory, with a warning if the settings choose the disk. */
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { memoryDisk, spoolLocation } from "../../../../adapters/shared/archives/spool-location.ts";
import { folderWith } from "../../../support/archives/folders.ts";

const MEMORY = "/dev/shm";
const onCloudRun = { K_SERVICE: "portside" };

test("uses a disk, unless the settings choose the bucket", () => {
  using folder = folderWith();
  if (memoryDisk(folder.path, {}) !== undefined) return expect(memoryDisk("/", {})).toBeUndefined();
  expect(spoolLocation("auto", folder.path, "b", {})).toMatchObject({ in: "disk", finding: { verdict: "ok" } });
  expect(spoolLocation("bucket", folder.path, "b", {})).toMatchObject({ in: "bucket", finding: { verdict: "ok" } });
});

test("uses the bucket on Cloud Run; warns about its disk, with the fix", () => {
  const chosen = spoolLocation("auto", "/data", "the-bucket", onCloudRun);
  expect(chosen).toMatchObject({ in: "bucket", finding: { verdict: "ok" } });
  expect(chosen.finding.words).toMatch(/the-bucket, because Cloud Run/);
  expect(spoolLocation("disk", "/data", "b", onCloudRun)).toMatchObject({
    in: "disk",
    finding: { verdict: "warning", fix: "portside serve --source-spool bucket" },
  });
});

test.runIf(existsSync(MEMORY))("a folder that does not exist yet is judged by its nearest existing parent", () => {
  expect(memoryDisk(`${MEMORY}/not/there/yet`, {})).toContain("is on an in-memory file system");
});
