/** A complete engine without the lease: its service runs, and the log and the usage continue when it has the lease. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { localConfigSchema } from "../../../../adapters/local/config.ts";
import { ENGINE_FILE } from "../../../../adapters/local/engine/engine-file.ts";
import { openEngine } from "../../../../adapters/local/engine/open-engine.ts";
import { logPath } from "../../../../adapters/local/logs/log-path.ts";
import { createSystemClock, randomIds } from "../../../../adapters/shared/runtime/system.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { parseRollup, requestsOf } from "../../../../core/domain/usage/rollup.ts";
import { noTelemetry } from "../../../../core/ports/telemetry.ts";
import { nodeSource } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { recordingLogger } from "../../../support/logs/silent-logger.ts";
import { startLocalIn } from "../../../support/providers/local-platform.ts";

/** Prints the path of each request. */
const server = `
import { createServer } from "node:http";
const server = createServer((request, response) => {
  console.log(request.url);
  response.end("ok");
});
server.listen(process.env.PORT);
process.on("SIGTERM", () => server.close(() => process.exit(0)));`;

test("an engine serves without the lease, and stores everything when it has the lease again", async () => {
  using folder = folderWith();
  const dataDir = folder.path;
  {
    await using platform = await startLocalIn(dataDir, { runner: "process" });
    await platform.up(nodeSource(server));
  }
  const { logger, logged } = recordingLogger();
  const config = localConfigSchema.parse({ dataDir, ingressPort: 0, runner: "process", graceSeconds: 2 });
  const deps = { environment: process.env, clock: createSystemClock(), ids: randomIds, logger, telemetry: noTelemetry };
  const engine = await openEngine({ ...deps, config, dataDir, keepsImages: true });
  const { ports } = await engine.engine.apply();
  const get = async (path: string) => expect((await fetch(`http://127.0.0.1:${ports["app"]}${path}`)).status).toBe(200);
  const stored = () => {
    using log = new DatabaseSync(logPath(join(dataDir, "logs"), "acme" as AccountId), { readOnly: true });
    using billing = new DatabaseSync(join(dataDir, "billing.sqlite"), { readOnly: true });
    const logOf = (name: string) =>
      log.prepare("SELECT text, http FROM entries WHERE log = ? ORDER BY ns, ord").all(name);
    return {
      printed: logOf("stdout").map(({ text }) => text),
      requests: logOf("requests").map(({ http }) => new URL(JSON.parse(String(http)).requestUrl).pathname),
      billed: billing.prepare("SELECT sum(grains) AS sum FROM usage WHERE sku = 'requests'").get()?.["sum"],
    };
  };
  await get("/1");
  const handover = await engine.releaseLease();
  const before = stored();
  for (let n = 0; n < 3; n++) await get("/2");
  expect(() => engine.logs).toThrow("this engine does not hold the lease");
  expect(stored()).toEqual(before);
  await engine.takeLease(handover);
  await get("/3");
  await engine[Symbol.asyncDispose]();
  const paths = ["/1", "/2", "/2", "/2", "/3"];
  expect(stored()).toEqual({ printed: paths, requests: paths, billed: 5 });
  using file = new DatabaseSync(join(dataDir, ENGINE_FILE), { readOnly: true });
  const rollups = file.prepare("SELECT rollup FROM rollups").all();
  expect(rollups.reduce((sum, { rollup }) => sum + requestsOf(parseRollup(String(rollup)), "2xx"), 0)).toBe(5);
  expect(logged.filter((text) => text.includes("lost"))).toEqual([]);
});
