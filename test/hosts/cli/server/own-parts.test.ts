/** A platform out of settings, with parts of the embedder's own. */
import { expect, test } from "vitest";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { adjust, type Policy } from "../../../../core/domain/deploy/policy.ts";
import { unavailable } from "../../../../core/errors.ts";
import { errAsync } from "../../../../core/result.ts";
import { buildPlatform, loggerOf, type OwnParts, resolveSettings } from "../../../../hosts/composition/index.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { keepingLogger } from "../../../support/logs/silent-logger.ts";
import { principalOf } from "../../../support/providers/local-platform.ts";

const build = (dataDir: string, own: OwnParts) =>
  buildPlatform(resolveSettings({ dataDir, provider: "memory", deployments: "3", logLevel: "silent" }, {}), own);

test("policies go on top of the limits that the settings have", async () => {
  using folder = folderWith();
  const slow: Policy = { name: "slow", judge: () => [adjust("timeout", 5, "Timeout lowered to 5 s")] };
  const { controlPlane, close } = await build(folder.path, { policies: [slow] });
  expect(controlPlane.capabilities().limits.deployments).toBe(3);
  const plan = await controlPlane.plan(principalOf("acme"), { fields: { function_name: "app", volumes: {} } });
  expect(plan._unsafeUnwrap().summary).toContain("Timeout lowered to 5 s (policy 'slow')");
  await close();
});

test("clock, ids, logger, identity and billing are the embedder's", async () => {
  using folder = folderWith();
  const clock = createManualClock();
  const { logger } = keepingLogger();
  const ids = { id: () => "a".repeat(20), secret: (length: number) => "s".repeat(length) };
  const other = await build(folder.path, {});
  const { identity, billing } = other.ports;
  const { ports, close } = await build(folder.path, { clock, ids, logger, identity, billing });
  expect([ports.clock, ports.ids, ports.logger]).toEqual([clock, ids, logger]);
  expect(ports.clock).toBe(clock);
  const key = (await ports.identity.keys.create(principalOf("acme").account, "own"))._unsafeUnwrap();
  const principal = await other.controlPlane.authenticate({ apiKey: key.key });
  expect(principal._unsafeUnwrap().account).toBe("acme");
  await close();
  await other.close();
});

test("a port of the embedder's own stands in the chosen provider's place", async () => {
  using folder = folderWith();
  const check = () => errAsync(unavailable("down for a test", 5));
  const { controlPlane, close } = await build(folder.path, { provider: (chosen) => ({ ...chosen, check }) });
  expect((await controlPlane.check())._unsafeUnwrapErr().message).toBe("down for a test");
  await close();
});

test("a pino is a logger through loggerOf: words and fields both arrive", () => {
  const said: unknown[][] = [];
  const note = (...args: unknown[]) => void said.push(args);
  const log = loggerOf({ debug: note, info: note, warn: note, error: note } as never);
  log.warn("a word", { field: 1 });
  expect(said).toEqual([[{ field: 1 }, "a word"]]);
});

test("a setting that there is not is refused, with the one that was meant", () => {
  expect(() => resolveSettings({ provder: "memory" }, {})).toThrow(
    "There is the unknown setting 'provder'; did you mean 'provider'?",
  );
});
