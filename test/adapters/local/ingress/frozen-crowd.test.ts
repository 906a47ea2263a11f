/**
 * Twenty frozen services, whose memory exceeds the budget. `npm run soak -- frozen` runs 200 services under a budget of
 * 4 GiB.
 */
import { expect, test } from "vitest";
import { GiB } from "../../../../core/domain/accounts/limits.ts";
import { nodeSource } from "../../../support/archives/archives.ts";
import { send } from "../../../support/http/clients.ts";
import { eventsOf } from "../../../support/logs/log-entries.ts";
import { startLocal } from "../../../support/providers/local-platform.ts";
import { eventually } from "../../../support/vitest/eventually.ts";

const SERVICES = Number(process.env["PORTSIDE_FROZEN"] ?? 20);
const CONCURRENT_REQUESTS = 4;
const budget = Math.floor((4 * GiB * SERVICES) / 200);

/** Uses so much memory that the budget does not suffice for all services. */
const source = nodeSource(`
import { createServer } from "node:http";
globalThis.held = Buffer.alloc(20_000_000, 1);
createServer((request, response) => response.end(process.env.K_SERVICE)).listen(process.env.PORT);
`);

test("services beyond the budget stop, the oldest first, and no service loses a request", async () => {
  // A service can start while its previous instance stops.
  const instancesPerAccount = 2 * SERVICES;
  await using platform = await startLocal(
    { runner: "process", idleSeconds: 0.2, frozenMemory: budget, instancesPerAccount },
    { accountLimits: { deployments: SERVICES } },
  );
  const names = Array.from({ length: SERVICES }, (_, index) => `crowd-${index}`);
  const urls: string[] = [];
  for (const name of names) urls.push(await platform.up(source, { function_name: name }));

  const countOf = async (event: string, name: string) => (await eventsOf(platform, event, name)).length;
  for (const name of names) await eventually(async () => expect(await countOf("frozen", name)).toBe(1));
  await eventually(async () => {
    const stops = await Promise.all(names.map((name) => eventsOf(platform, "idle", name)));
    const stopped = stops.filter((events) => events.some(({ reason }) => reason === "memory")).length;
    expect(stopped).toBeGreaterThan(0);
    expect(stopped).toBeLessThan(SERVICES);
    expect(stops.map((events) => events.length)).toEqual(names.map((_, index) => (index < stopped ? 1 : 0)));
  });

  // Services are thawed, started, frozen and stopped during these requests.
  for (let round = 0; round < 2; round++)
    for (let from = 0; from < SERVICES; from += CONCURRENT_REQUESTS) {
      const replies = await Promise.all(urls.slice(from, from + CONCURRENT_REQUESTS).map((url) => send(url)));
      expect(replies.map(({ text }) => text)).toEqual(names.slice(from, from + CONCURRENT_REQUESTS));
    }
  for (const name of names) expect(await countOf("crashed", name)).toBe(0);
});
