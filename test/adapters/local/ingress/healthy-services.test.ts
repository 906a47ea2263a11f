/** Services with a health check, with real processes: rollouts, replacements, and scale to zero. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { nodeSource } from "../../../support/archives/archives.ts";
import { send } from "../../../support/http/clients.ts";
import { entriesOf, eventsOf, requestsOf } from "../../../support/logs/log-entries.ts";
import { runners, startLocal } from "../../../support/providers/local-platform.ts";
import { eventually } from "../../../support/vitest/eventually.ts";

/** `/healthz` fails for `slow` milliseconds and after a request to `/break`. Prints a line for each check. */
const checked = (reply: string, slow = 0) =>
  nodeSource(`
import { createServer } from "node:http";
const startedAt = Date.now();
let broken = false;
const id = Math.random();
createServer((request, response) => {
  if (request.url === "/break") broken = true;
  if (request.url === "/healthz") {
    console.log("checked");
    const sick = broken || Date.now() - startedAt < ${slow};
    response.writeHead(sick ? 503 : 200).end(sick ? "not yet" : "");
  } else response.end("${reply} " + id);
}).listen(process.env.PORT);
`);

/** On a busy machine, single checks may take too long. */
const health = { path: "/healthz", interval: 1, failures: 5 };

describe.each(runners)("%s", (runner) => {
  test("a new revision gets requests only when its check passes, and the earlier one serves until then", async () => {
    await using platform = await startLocal({ runner });
    const url = await platform.up(checked("first"), { health });
    const replies = new Set<string>();
    let deployed = false;
    const asking = (async () => {
      while (!deployed) {
        replies.add((await send(url)).text.split(" ")[0] as string);
        await sleep(50);
      }
    })();
    const begun = Date.now();
    const records = await platform.deploy(checked("second", 2000), { health });
    const took = Date.now() - begun;
    deployed = true;
    await asking;
    expect(records.at(-1)?.status).toBe("DONE");
    expect(took).toBeGreaterThanOrEqual(2000);
    expect(records.map(({ message }) => message)).toContain(
      "Waiting for the health check: GET /healthz responded with status 503: not yet",
    );
    expect((await send(url)).text).toMatch(/^second /);
    expect([...replies][0]).toBe("first");
    // Checks are not requests of clients.
    expect((await requestsOf(platform)).filter(({ http }) => http?.requestUrl.includes("healthz"))).toEqual([]);
  });

  test("an instance that becomes unhealthy is replaced", async () => {
    await using platform = await startLocal({ runner });
    const url = await platform.up(checked("app"), { health });
    const before = (await send(url)).text;
    await send(url, { path: "/break" });
    await eventually(async () => expect(await eventsOf(platform, "unhealthy")).toHaveLength(1));
    await eventually(async () => expect(await eventsOf(platform, "started")).toHaveLength(1));
    const after = await send(url);
    expect([after.status, after.text === before]).toEqual([200, false]);
    expect((await eventsOf(platform, "unhealthy"))[0]?.["message"]).toContain("failed 5 times in a row");
    expect(await eventsOf(platform, "crashed")).toEqual([]);
  });
});

test("checks do not wake a service that has scaled to zero", async () => {
  await using platform = await startLocal({ runner: "process", idle: "stop", idleSeconds: 1.5 });
  await platform.up(checked("app"), { health });
  await eventually(async () => expect(await eventsOf(platform, "idle")).toHaveLength(1));
  const checks = async () => (await entriesOf(platform)).filter(({ text }) => text === "checked").length;
  const before = await checks();
  expect(before).toBeGreaterThanOrEqual(2);
  await sleep(3000);
  expect(await checks()).toBe(before);
  expect(await eventsOf(platform, "started")).toEqual([]);
});
