/**
 * Chooses where a source is stored before its build: on the server's disk, or in a bucket if the server's file system
 * is in memory.
 */
import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import { type Finding, pass, warn } from "../../../core/domain/wire/check.ts";

export const spoolSetting = z
  .enum(["auto", "disk", "bucket"])
  .default("auto")
  .describe(
    "Where gcp and aws store sources before the build; `auto` selects the bucket if the data folder is in memory",
  );

export type SpoolSetting = z.output<typeof spoolSetting>;

/** https://man7.org/linux/man-pages/man2/statfs.2.html: TMPFS_MAGIC and RAMFS_MAGIC */
const inMemory: readonly number[] = [0x01021994, 0x858458f6];

/** Returns the file system type of the folder, or of its nearest existing parent. */
const kindOf = (folder: string): number | undefined => {
  for (let path = folder; ; path = dirname(path))
    try {
      return statfsSync(path).type;
    } catch {
      if (path === dirname(path)) return undefined;
    }
};

/** Returns why files in the folder use memory, or undefined if they do not. */
export const memoryDisk = (folder: string, environment: NodeJS.ProcessEnv): string | undefined => {
  // https://docs.cloud.google.com/run/docs/container-contract: the file system "is in-memory"; K_SERVICE is always set.
  if (environment["K_SERVICE"] !== undefined) return "Cloud Run's file system is in memory";
  const kind = kindOf(folder);
  return kind !== undefined && inMemory.includes(kind) ? `${folder} is on an in-memory file system` : undefined;
};

/** @param bucket the name of the bucket, for the finding */
export const spoolLocation = (
  setting: SpoolSetting,
  folder: string,
  bucket: string,
  environment: NodeJS.ProcessEnv,
): { readonly in: "disk" | "bucket"; readonly finding: Finding } => {
  const what = "source storage";
  const memory = memoryDisk(folder, environment);
  if (setting === "bucket" || (setting === "auto" && memory !== undefined)) {
    const why = setting === "bucket" ? "" : `, because ${memory}`;
    return { in: "bucket", finding: pass(what, `in the bucket ${bucket}${why}`) };
  }
  if (memory === undefined) return { in: "disk", finding: pass(what, `on the disk, in ${folder}`) };
  const words = `in ${folder}, but ${memory}, so each upload uses memory equal to its size`;
  return { in: "disk", finding: warn(what, words, "portside serve --source-spool bucket") };
};
