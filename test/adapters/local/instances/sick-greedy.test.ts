/** Services that exceed their limits, or do not stop, are contained and reported. */
import { describe, expect, test } from "vitest";
import { nodeSource, sourceOf } from "../../../support/archives/archives.ts";
import { principalOf, runners, startLocal, type TestPlatform } from "../../../support/providers/local-platform.ts";
import { marked, markedProcesses } from "../../../support/sandbox/jobs.ts";

/** Responds with the instance's mark. `/eat` starts `eater`. */
const serverWith = (eater: string, atStart = "") => `
import { createServer } from "node:http";
const kept = [];
${atStart}
const eat = () => { ${eater} };
createServer((request, response) => {
  if (request.url === "/eat") eat();
  response.end(process.env.PORTSIDE_INSTANCE);
}).listen(process.env.PORT);`;

const buffers = "setInterval(() => kept.push(Buffer.alloc(16 << 20, 1)), 5);";
const heap = "for (;;) kept.push({ text: String(Math.random()), more: [kept.length] });";

const text = async (url: string) => (await fetch(url)).text();
const scopeOf = (instance: string) => `${instance.split(".")[0]}.`;

const newest = async (platform: TestPlatform, name = "app") => {
  const request = { deployment_name: name, limit: 1000 };
  return (await platform.controlPlane.readLogs(principalOf("acme"), request))._unsafeUnwrap().logs;
};

describe.each(runners)("%s", (runner) => {
  test.each([
    ["buffers", "for (;;) kept.push(Buffer.alloc(16 << 20, 1));"],
    ["the JavaScript heap", heap],
  ])("ends a service that fills its memory with %s at start, and reports the reason", async (_what, eater) => {
    await using platform = await startLocal({ runner });
    const url = await platform.up(nodeSource(serverWith("")));
    const before = await text(url);
    const records = await platform.deploy(nodeSource(serverWith("", eater)), { memory: "128Mi" });
    const last = records.at(-1);
    expect(last).toMatchObject({ status: "ERROR", reason: "out_of_memory" });
    expect(last?.message).toContain("128Mi");
    expect(await text(url)).toBe(before);
    const left = marked(scopeOf(before)).map(({ instance }) => instance);
    expect([...new Set(left)]).toEqual([before]);
  });

  test("ends a service that fills its memory while it serves, logs it, and starts it again for the next request", async () => {
    await using platform = await startLocal({ runner });
    const url = await platform.up(nodeSource(serverWith(buffers)), { memory: "128Mi" });
    const before = await text(`${url}/eat`);
    await expect
      .poll(async () => (await newest(platform)).map(({ message }) => message).join("\n"))
      .toContain('"reason":"out_of_memory"');
    const after = await text(url);
    expect(after).not.toBe(before);
    const left = marked(scopeOf(after)).map(({ instance }) => instance);
    expect([...new Set(left)]).toEqual([after]);
  });

  test("contains a service that forks endlessly, and removes it with its deployment", async () => {
    await using platform = await startLocal({ runner }, { deployLimits: { listenDeadlineMs: 2000 } });
    const url = await platform.up(nodeSource(serverWith("")));
    const before = await text(url);
    const bomb = sourceOf({ Procfile: "web: while :; do sleep 1000 & done" });
    const records = await platform.deploy(bomb);
    expect(records.at(-1)?.status).toBe("ERROR");
    expect(["crashed", "did_not_listen"]).toContain(records.at(-1)?.reason);
    expect(await text(url)).toBe(before);
    const left = marked(scopeOf(before)).map(({ instance }) => instance);
    expect([...new Set(left)]).toEqual([before]);
  });

  test("keeps a service that prints megabytes and its neighbour running, with a complete log", async () => {
    await using platform = await startLocal({ runner });
    const quiet = await platform.up(nodeSource(serverWith("")), { function_name: "quiet" });
    const print = `let line = 0;
      const print = () => { process.stdout.write(Array.from({ length: 200 }, () => (line++ + " ").padEnd(1000, "x") + "\\n").join("")); };
      setInterval(print, 50);`;
    const loud = await platform.up(nodeSource(serverWith("", print)));
    // More than 1.5 MB must arrive: the output must not stay in the pipe.
    await expect
      .poll(async () => {
        await Promise.all([text(loud), text(quiet)]);
        const newestLines = await newest(platform);
        const lines = newestLines.flatMap(({ message }) => /^(\d+) x/.exec(message)?.[1] ?? []).map(Number);
        expect(lines).toEqual(Array.from(lines, (_, index) => (lines[0] as number) + index));
        return lines.length > 800 ? lines.at(-1) : 0;
      })
      .toBeGreaterThan(1500);
  });

  test("replaces a service that ignores SIGTERM, and kills it after the grace period", async () => {
    await using platform = await startLocal({ runner, graceSeconds: 1, drainSeconds: 1 });
    const stubborn = `for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => console.log("no"));`;
    const url = await platform.up(nodeSource(serverWith("", stubborn)));
    const before = await text(url);
    expect(await platform.up(nodeSource(serverWith("")))).toBe(url);
    const after = await text(url);
    expect(after).not.toBe(before);
    await expect.poll(() => markedProcesses(before)).toEqual([]);
    expect(markedProcesses(after).length).toBeGreaterThan(0);
  });
});
