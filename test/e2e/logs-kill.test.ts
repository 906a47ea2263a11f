/** kill -9 while a service logs ten thousand lines a second: only the last lines are lost, and none repeats. */
import { once } from "node:events";
import { expect, test } from "vitest";
import { sourceOf } from "../support/archives/archives.ts";
import { folderWith } from "../support/archives/folders.ts";
import { Client, serve } from "../support/http/served.ts";
import { allMessages } from "../support/logs/all-messages.ts";

/** A hundred lines every ten milliseconds, each with its number and time. */
const numbering = `
require("node:http").createServer((req, res) => res.end("ok")).listen(process.env.PORT);
let n = 0;
setInterval(() => {
  let lines = "";
  for (let i = 0; i < 100; i++) lines += "n " + n++ + " " + Date.now() + "\\n";
  process.stdout.write(lines);
}, 10);
process.stdout.on("error", () => process.exit(1));
`;

/** A lost line must be younger than the sum of the time between two writes and a margin for a busy machine. */
const YOUNG_MS = 200;
const BUSY_MS = 5000;

interface Line {
  readonly n: number;
  readonly at: number;
}

/** Every numbered line, along the cursor. */
const linesOf = async (url: string, key: string): Promise<Line[]> => {
  const lines: Line[] = [];
  for await (const message of allMessages(new Client(url, key))) {
    const [, n, at] = /^n (\d+) (\d+)$/.exec(message) ?? [];
    if (n !== undefined) lines.push({ n: Number(n), at: Number(at) });
  }
  return lines;
};

test("loses only the last lines before a kill, and duplicates none", async () => {
  using folder = folderWith();
  const options = { runner: "process" };
  const killed = await serve(folder.path, options);
  const key = killed.apiKey ?? "";
  const source = sourceOf({ "package.json": "{}", "server.js": numbering });
  const records = await Array.fromAsync(new Client(killed.url, key).deploy("app", source));
  expect(records.at(-1)?.status).toBe("DONE");
  const { url } = records.at(-1) as { url: string };
  expect(await (await fetch(url)).text()).toBe("ok");
  await expect.poll(async () => (await linesOf(killed.url, key)).length).toBeGreaterThan(10_000);
  const at = Date.now();
  const ended = once(killed.child, "exit");
  killed.child.kill("SIGKILL");
  await ended;
  const server = await serve(folder.path, options);
  const kept = (await linesOf(server.url, key)).filter((line) => line.at <= at);
  expect(kept.length).toBeGreaterThan(10_000);
  expect(kept.map(({ n }) => n)).toEqual(Array.from({ length: kept.length }, (_, n) => n));
  expect(at - (kept.at(-1)?.at ?? 0)).toBeLessThan(YOUNG_MS + BUSY_MS);
  server.child.kill("SIGTERM");
  await once(server.child, "exit");
});
