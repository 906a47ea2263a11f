/** Failed starts report the reason and the last lines, and the previous revision keeps serving. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createControlPlane } from "../../../../core/control-plane.ts";
import type { DeployEvent } from "../../../../core/domain/deploy/events.ts";
import { nodeSource, sourceOf } from "../../../support/archives/archives.ts";
import { deployThrough, runners, startLocal, type TestPlatform } from "../../../support/providers/local-platform.ts";
import { marked } from "../../../support/sandbox/jobs.ts";

const listens = (where: string, before = "") => `
import { createServer } from "node:http";
${before}
createServer((request, response) => response.end("new")).listen(${where});`;

const old = `
import { createServer } from "node:http";
createServer((request, response) => response.end(request.url === "/instance" ? process.env.PORTSIDE_INSTANCE : "old"))
  .listen(process.env.PORT);`;

interface Sick {
  readonly reason: string;
  readonly code?: number;
  /** Parts of the message. */
  readonly messageParts?: readonly string[];
  /** A part of one of the last lines. */
  readonly lastLine?: string;
  /** Overrides the deadline for listening, for a service that would otherwise fail only after the default. */
  readonly within?: number;
}

const cases: readonly [string, Uint8Array, Sick][] = [
  [
    "crashes at start",
    nodeSource('console.log("starting"); console.error("DATABASE_URL is missing"); process.exitCode = 7;'),
    { reason: "crashed", code: 7, messageParts: ["exit code 7"], lastLine: "DATABASE_URL is missing" },
  ],
  [
    "throws at start",
    nodeSource('console.log("starting"); throw new Error("no such table");'),
    { reason: "crashed", code: 1, lastLine: "Error: no such table" },
  ],
  [
    "is ended by a signal at start",
    nodeSource('process.kill(process.pid, "SIGSEGV"); setInterval(() => {}, 1000);'),
    { reason: "crashed", messageParts: ["SIGSEGV"] },
  ],
  [
    "exits with 0",
    nodeSource('console.log("all done");'),
    { reason: "exited", code: 0, messageParts: ["exit code 0", "PORT"], lastLine: "all done" },
  ],
  [
    "starts a missing program",
    sourceOf({ Procfile: "web: no-such-server --port $PORT" }),
    { reason: "crashed", code: 127, lastLine: "no-such-server" },
  ],
  [
    "never listens",
    sourceOf({ Procfile: "web: echo thinking; exec sleep 1000" }),
    {
      reason: "did_not_listen",
      messageParts: ["not ready after 3 s: nothing listens on PORT ("],
      lastLine: "thinking",
      within: 3000,
    },
  ],
  [
    "listens on a different port",
    nodeSource(listens('0, () => console.log("up")')),
    { reason: "did_not_listen", messageParts: ["not on PORT", "environment variable PORT"], lastLine: "up" },
  ],
  [
    "listens on a different address",
    nodeSource(listens('process.env.PORT, "127.0.0.2"')),
    { reason: "did_not_listen", messageParts: ["127.0.0.2", "listen on 0.0.0.0"] },
  ],
];

describe.each(runners)("%s", (runner) => {
  let platform: TestPlatform;
  let url: string;
  let instance: string;
  const answer = async () => (await fetch(url)).text();

  beforeAll(async () => {
    platform = await startLocal({ runner, elsewhereSeconds: 1 });
    url = await platform.up(nodeSource(old));
    instance = await (await fetch(`${url}/instance`)).text();
  });
  afterAll(() => platform[Symbol.asyncDispose]());

  test.each(cases)("fails with a reason if the service %s", async (_what, source, sick) => {
    const deployLimits = sick.within === undefined ? {} : { listenDeadlineMs: sick.within };
    const deploy = deployThrough(createControlPlane(platform.local.ports, { deployLimits }))(source);
    let during = 0;
    let ended = false;
    void deploy.finally(() => {
      ended = true;
    });
    while (!ended) {
      expect(await answer()).toBe("old");
      during++;
      await sleep(20);
    }
    const records = await deploy;
    const last = records.at(-1) as DeployEvent;
    expect(last).toMatchObject({ status: "ERROR", reason: sick.reason });
    expect(last.exit_code).toBe(sick.code);
    for (const part of sick.messageParts ?? []) expect(last.message).toContain(part);
    if (sick.lastLine !== undefined) expect(last.log_tail?.join("\n")).toContain(sick.lastLine);
    expect(during).toBeGreaterThan(0);
    expect(await answer()).toBe("old");
    // Only the serving instance is left.
    const left = marked(`${instance.split(".")[0]}.`).map((one) => one.instance);
    expect([...new Set(left)]).toEqual([instance]);
  });
});

test.concurrent.each(runners)("a service that takes 5 s to start becomes ready (%s)", async (runner) => {
  await using platform = await startLocal({ runner });
  const slow = listens("process.env.PORT", "await new Promise((resolve) => setTimeout(resolve, 5000));");
  const url = await platform.up(nodeSource(slow));
  expect(await (await fetch(url)).text()).toBe("new");
});

test.concurrent.each(runners)(
  "a service that listens only on the loopback address becomes ready, with a warning (%s)",
  async (runner) => {
    await using platform = await startLocal({ runner });
    const records = await platform.deploy(nodeSource(listens('process.env.PORT, "127.0.0.1"')));
    expect(records.at(-1)?.status).toBe("DONE");
    const warning = records.find(({ message }) => message.includes("127.0.0.1 only"));
    expect(warning).toMatchObject({ status: "DEPLOYING", message: expect.stringContaining("on a cloud") });
  },
);

test.concurrent.each(runners)("a service that listens only on the IPv6 loopback address fails (%s)", async (runner) => {
  await using platform = await startLocal({ runner, elsewhereSeconds: 1 });
  const records = await platform.deploy(nodeSource(listens('process.env.PORT, "::1"')));
  expect(records.at(-1)).toMatchObject({ status: "ERROR" });
  if (records.at(-1)?.reason === "crashed")
    expect(JSON.stringify(records.at(-1))).toMatch(/EADDRNOTAVAIL|EAFNOSUPPORT/);
  else expect(records.at(-1)).toMatchObject({ reason: "did_not_listen", message: expect.stringContaining("[::1]") });
});
