/** Services in containers that take a busy lease. */
import { expect, test } from "vitest";
import { nodeSource, sourceOf } from "../support/archives/archives.ts";
import { send } from "../support/http/clients.ts";
import { eventsOf } from "../support/logs/log-entries.ts";
import { busyWorkerCode } from "../support/providers/busy-worker.ts";
import { startLocal, type TestPlatform } from "../support/providers/local-platform.ts";
import { eventually } from "../support/vitest/eventually.ts";
import { needs } from "../support/vitest/machine.ts";

/** The image's user has no rights on this machine. */
const image = sourceOf({
  Dockerfile: `FROM docker.io/library/node:24-bookworm-slim\nCOPY server.mjs /\nUSER 1234:1234\nCMD ["node", "/server.mjs"]\n`,
  "server.mjs": busyWorkerCode,
});

const idleSeconds = 0.3;

const checkLease = async (platform: TestPlatform, source: Uint8Array): Promise<void> => {
  const url = await platform.up(source);
  await eventually(async () => expect(await eventsOf(platform, "frozen")).toHaveLength(1));
  expect((await send(url, { path: "/lease?ms=300000" })).text).toMatch(/^200 /);
  const other = await platform.up(source, { function_name: "other" });
  for (const times of [1, 2, 3]) {
    await send(other);
    await eventually(async () => expect(await eventsOf(platform, "frozen", "other")).toHaveLength(times));
  }
  expect(await eventsOf(platform, "frozen")).toHaveLength(1);
  expect((await send(url, { path: "/lease?ms=-1" })).text).toBe('200 {"until":null}');
  await eventually(async () => expect(await eventsOf(platform, "frozen")).toHaveLength(2));
};

test("a container from a Dockerfile takes a lease as any user", async (context) => {
  needs(context, "base images");
  await using platform = await startLocal({ idleSeconds });
  await checkLease(platform, image);
});

test("a container for a source without a Dockerfile takes a lease", async (context) => {
  needs(context, "containers");
  await using platform = await startLocal({ runner: "container", idleSeconds });
  await checkLease(platform, nodeSource(busyWorkerCode));
});
