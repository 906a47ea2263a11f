/** The SQL process of a server that is killed during a statement. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { folderWith } from "../../../../support/archives/folders.ts";
import { eventually, isAlive } from "../../../../support/vitest/eventually.ts";
import { needs } from "../../../../support/vitest/machine.ts";

const source = new URL("../../../../../adapters/shared/sql/process/child.ts", import.meta.url).href;

/** Runs an endless statement, so it does not handle the disconnect. */
const endless = `
process.send({ kind: "ready" });
process.on("disconnect", () => process.exit(0));
process.on("message", () => {
  process.send({ kind: "columns" }, () => {
    for (;;);
  });
});
`;

const serverOf = (script: string) => `
const { SqlChild } = await import(${JSON.stringify(source)});
const child = await SqlChild.start(new URL(${JSON.stringify(pathToFileURL(script).href)}), []);
for await (const _ of child.send({ kind: "describe", statement: "" })) console.log(child.pid);
`;

test("the process ends with the server, even during a statement", async (context) => {
  needs(context, "setpriv");
  using folder = folderWith({ "endless.mjs": endless });
  const script = serverOf(join(folder.path, "endless.mjs"));
  const server = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(server.stdout, "data");
  const pid = Number(line);
  try {
    expect(isAlive(pid)).toBe(true);
    server.kill("SIGKILL");
    await eventually(() => expect(isAlive(pid)).toBe(false));
  } finally {
    if (isAlive(pid)) process.kill(pid, "SIGKILL");
    server.kill("SIGKILL");
  }
});
