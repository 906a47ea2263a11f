/** Mounts the folder that was opened, even if its path later leads to another folder. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, fstatSync, mkdirSync, openSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { MountPoints } from "../../../../adapters/local/containers/mount-points.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { needs } from "../../../support/vitest/machine.ts";

/** Replaces `sub` with a link to another folder and back, as often as it can. */
const swapping = (volume: string, elsewhere: string): ChildProcess => {
  const program = `
    const fs = require("node:fs");
    const [sub, moved, link] = ["sub", "moved", "link"].map((name) => ${JSON.stringify(volume)} + "/" + name);
    for (;;) {
      fs.renameSync(sub, moved);
      fs.symlinkSync(${JSON.stringify(elsewhere)}, sub);
      fs.unlinkSync(sub);
      fs.renameSync(moved, sub);
    }`;
  return spawn(process.execPath, ["-e", program], { stdio: "ignore" });
};

test("mounts a folder while its name is swapped with a link", async (context) => {
  needs(context, "root");
  using folder = folderWith();
  const [volume, elsewhere] = [join(folder.path, "volume"), join(folder.path, "elsewhere")];
  mkdirSync(join(volume, "sub"), { recursive: true });
  mkdirSync(elsewhere);
  const fd = openSync(join(volume, "sub"), "r");
  const points = new MountPoints(join(folder.path, "points"));
  await points.sweep();
  const swapper = swapping(volume, elsewhere);
  try {
    for (let n = 0; n < 40; n++) {
      const bind = { fd, host: undefined, inside: "/data", writable: true };
      const { mounts, cleanUp } = await points.mount(`job${n}`, [bind], false);
      expect(statSync(mounts[0]?.host ?? "").ino).toBe(fstatSync(fd).ino);
      await cleanUp();
    }
  } finally {
    swapper.kill("SIGKILL");
    await once(swapper, "exit");
    closeSync(fd);
    await points.sweep();
  }
});
