/** Volume folders that the state does not contain. */
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folderWith } from "../../../support/archives/folders.ts";
import { recordingLogger } from "../../../support/logs/silent-logger.ts";
import { startLocalIn } from "../../../support/providers/local-platform.ts";

/** The paths of all files below a folder. */
const filesBelow = (path: string): string[] =>
  readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));

test("moves an unknown volume folder to quarantine, and reports its size and path", async () => {
  using folder = folderWith();
  {
    await using platform = await startLocalIn(folder.path, { runner: "process" });
    expect(platform.local.ingressPort).toBeGreaterThan(0);
  }
  const unknown = join(folder.path, "storage", "volumes", "vol-unknown");
  mkdirSync(join(unknown, "deep"), { recursive: true });
  writeFileSync(join(unknown, "deep", "photo.jpg"), "only copy");
  // A name that services can choose and that is not UTF-8.
  writeFileSync(Buffer.concat([Buffer.from(`${unknown}/deep/`), Buffer.from([0xff, 0xfe])]), "1234");
  chmodSync(unknown, 0o500);
  mkdirSync(join(folder.path, "storage", "volumes", "vol-empty"));

  const { logger, logged } = recordingLogger();
  for (const _start of [1, 2]) {
    await using platform = await startLocalIn(folder.path, { runner: "process" }, {}, { logger });
    expect(platform.dataDir).toBe(folder.path);
  }
  expect(readdirSync(join(folder.path, "storage", "volumes"))).toEqual([]);
  const quarantine = join(folder.path, "storage", "quarantine");
  const kept = filesBelow(quarantine).filter((path) => path.endsWith("photo.jpg"));
  expect(kept).toHaveLength(1);
  expect(readFileSync(kept[0] as string, "utf8")).toBe("only copy");
  const records = filesBelow(quarantine).filter((path) => path.endsWith("entry.json"));
  expect(records).toHaveLength(1);
  expect(JSON.parse(readFileSync(records[0] as string, "utf8"))).toMatchObject({
    id: "vol-unknown",
    reason: "the state has no volume with this id",
  });
  const reports = logged.filter((line) => line.includes("quarantine"));
  expect(reports).toHaveLength(1);
  expect(reports[0]).toContain(JSON.stringify({ folders: 1, bytes: 13, path: quarantine }));
});
