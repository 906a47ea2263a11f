/** `buildPlatform` with overrides, and the parts that it relies on. */
import { readdirSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { Container } from "inversify";
import { expect, test } from "vitest";
import { createManualClock, createMemoryProvider } from "../../../adapters/memory/index.ts";
import { adjust, type Policy } from "../../../core/domain/deploy/policy.ts";
import { unavailable } from "../../../core/errors.ts";
import { errAsync } from "../../../core/result.ts";
import { buildPlatform, loggerOf, type PlatformOverrides, resolveSettings } from "../../../hosts/composition/index.ts";
import { folderWith } from "../../support/archives/folders.ts";
import { recordingLogger } from "../../support/logs/silent-logger.ts";
import { principalOf } from "../../support/providers/local-platform.ts";

const build = (dataDir: string, own: PlatformOverrides) =>
  buildPlatform(resolveSettings({ dataDir, provider: "memory", deployments: "3", logLevel: "silent" }, {}), own);

test("applies policies in addition to the limits of the settings", async () => {
  using folder = folderWith();
  const slow: Policy = { name: "slow", judge: () => [adjust("timeout", 5, "Timeout lowered to 5 s")] };
  const { controlPlane, close } = await build(folder.path, { policies: [slow] });
  expect(controlPlane.capabilities().limits.deployments).toBe(3);
  const plan = await controlPlane.plan(principalOf("acme"), { fields: { function_name: "app", volumes: {} } });
  expect(plan._unsafeUnwrap().summary).toContain("Timeout lowered to 5 s (policy 'slow')");
  await close();
});

test("applies the setting for custom domains", async () => {
  using folder = folderWith();
  const settings = { dataDir: folder.path, provider: "memory", customDomains: "7", logLevel: "silent" };
  const { controlPlane, close } = await buildPlatform(resolveSettings(settings, {}), {});
  expect(controlPlane.capabilities().limits.domains).toBe(7);
  await close();
});

test("uses the embedder's clock, ids, logger and identity", async () => {
  using folder = folderWith();
  const clock = createManualClock();
  const { logger } = recordingLogger();
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

test("opens no key store if the identity is overridden", async () => {
  using folder = folderWith();
  const { identity } = createMemoryProvider();
  const platform = await build(folder.path, { identity });
  expect([readdirSync(folder.path), platform.claimFirstKey]).toEqual([[], undefined]);
  await platform.close();
  const other = await build(folder.path, {});
  expect(readdirSync(folder.path)).not.toEqual([]);
  expect(await other.claimFirstKey?.()).toBe(true);
  await other.close();
});

test("replaces a port of the chosen provider", async () => {
  using folder = folderWith();
  const check = () => errAsync(unavailable("down for a test", 5));
  const { controlPlane, close } = await build(folder.path, { provider: (chosen) => ({ ...chosen, check }) });
  expect((await controlPlane.check())._unsafeUnwrapErr().message).toBe("down for a test");
  await close();
});

test("loggerOf passes message and fields to pino", () => {
  const logged: unknown[][] = [];
  const note = (...args: unknown[]) => void logged.push(args);
  const log = loggerOf({ debug: note, info: note, warn: note, error: note } as never);
  log.warn("a word", { field: 1 });
  expect(logged).toEqual([[{ field: 1 }, "a word"]]);
});

test("suggests the closest setting for an unknown one", () => {
  expect(() => resolveSettings({ provder: "memory" }, {})).toThrow(
    "Unknown setting 'provder'. Did you mean 'provider'?",
  );
});

/** Why a disposable stack closes the platform (docs/decisions/0032-providers-as-modules.md). */
test("inversify's teardown is concurrent and in the order of the bindings", async () => {
  const container = new Container({ defaultScope: "Singleton" });
  const events: string[] = [];
  for (const name of ["first", "second"]) {
    const close = async () => {
      events.push(`${name} closes`);
      await setImmediate();
      events.push(`${name} is closed`);
    };
    container
      .bind(name)
      .toResolvedValue(() => name)
      .onDeactivation(close);
  }
  expect([container.get("first"), container.get("second")]).toEqual(["first", "second"]);
  await container.unbindAllAsync();
  expect(events).toEqual(["first closes", "second closes", "first is closed", "second is closed"]);
});
