/** Opens a copy of a data folder while the server of the original runs. */
import { cpSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { nodeSource } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { principalOf, startLocalIn } from "../../../support/providers/local-platform.ts";

const tellsPid = `
import { createServer } from "node:http";
createServer((request, response) => response.end(String(process.pid))).listen(process.env.PORT);
`;

test("a server on the copy does not end the instances of the original", async () => {
  using folder = folderWith();
  const [dataDir, copy] = [join(folder.path, "original"), join(folder.path, "copy")];
  await using original = await startLocalIn(dataDir, { runner: "process" });
  const url = await original.up(nodeSource(tellsPid));
  const pid = await (await fetch(url)).text();
  cpSync(dataDir, copy, { recursive: true, verbatimSymlinks: true });
  for (let starts = 0; starts < 2; starts++) {
    await using second = await startLocalIn(copy, { runner: "process" });
    const [deployment] = (await second.controlPlane.listDeployments(principalOf("acme")))._unsafeUnwrap();
    expect(await (await fetch(deployment?.url as string)).text()).not.toBe(pid);
    expect(await (await fetch(url)).text()).toBe(pid);
  }
});
