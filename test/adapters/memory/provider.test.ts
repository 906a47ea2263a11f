/** The memory provider as a test tool: reset, snapshot, and replaceable parts. */
import { expect, test } from "vitest";
import { createManualClock, createMemoryProvider } from "../../../adapters/memory/index.ts";
import { missing } from "../../../core/domain/wire/capabilities.ts";
import { testOrigin } from "../../contracts/support.ts";
import { deployed, startMemory } from "../../support/providers/memory-platform.ts";

test("a snapshot is a copy: it is independent of later changes", async () => {
  const platform = startMemory();
  await deployed(platform);
  const before = platform.memory.snapshot();
  await deployed(platform, { function_name: "other" });
  expect([...before.services.keys()]).toEqual(["app"]);
  before.services.clear();
  const listed = await platform.controlPlane.listDeployments(platform.principal());
  expect(listed._unsafeUnwrap().map(({ name }) => name)).toEqual(["app", "other"]);
});

test("reset clears everything, even for existing ports", async () => {
  const platform = startMemory();
  await deployed(platform);
  platform.memory.reset();
  expect(platform.memory.snapshot()).toEqual(createMemoryProvider().snapshot());
  expect((await platform.controlPlane.listDeployments(platform.principal()))._unsafeUnwrap()).toEqual([]);
  await deployed(platform);
});

test("the provider returns copies", async () => {
  const platform = startMemory();
  await deployed(platform, { env: { A: "1" } });
  const [first] = (await platform.memory.provider.services.list(platform.principal().account))._unsafeUnwrap();
  Object.assign(first?.attempted.env ?? {}, { A: "changed" });
  const [again] = (await platform.memory.provider.services.list(platform.principal().account))._unsafeUnwrap();
  expect(again?.attempted.env).toEqual({ A: "1" });
});

test("parts of the capability record can be replaced", () => {
  const memory = createMemoryProvider({ capabilities: { http2: missing("not today") } });
  expect(memory.provider.capabilities).toMatchObject({ provider: "memory", http2: { supported: false } });
});

test("a rollout fails with `deleted` if its service is deleted, and with `superseded` if another rollout begins", async () => {
  const platform = startMemory();
  await deployed(platform);
  const { services } = platform.memory.provider;
  const [service] = (await services.list(platform.principal().account))._unsafeUnwrap();
  if (service === undefined) throw new Error("nothing was deployed");
  const { etag, owner, name } = service;
  const begin = (expected: Parameters<typeof services.rollout>[0]["expected"]) =>
    services
      .rollout({ template: service.attempted, expected, origin: testOrigin, listenDeadlineMs: 1000 })
      [Symbol.asyncIterator]();
  const first = begin({ etag, owner });
  await first.next();
  const now = (await services.list(owner))._unsafeUnwrap()[0]?.etag ?? "";
  const second = begin({ etag: now, owner });
  await second.next();
  expect((await first.next()).value).toMatchObject({ failure: { reason: "superseded" } });
  const latest = (await services.list(owner))._unsafeUnwrap()[0]?.etag ?? "";
  expect((await services.remove(name, { etag: latest, owner })).isOk()).toBe(true);
  expect((await second.next()).value).toMatchObject({ failure: { reason: "deleted" } });
  expect((await services.list(owner))._unsafeUnwrap()).toEqual([]);
});

test("a freed name is reserved for its owner for seven days", async () => {
  const clock = createManualClock();
  const platform = startMemory({ clock });
  await deployed(platform);
  const removed = await platform.controlPlane.deleteDeployment(platform.principal(), { name: "app" });
  expect(removed.isOk()).toBe(true);
  const available = async (account: string) =>
    (await platform.controlPlane.checkName(platform.principal(account), { name: "app" }))._unsafeUnwrap().available;
  expect([await available("acme"), await available("other")]).toEqual([true, false]);
  await clock.advance(7 * 86_400_000 - 1);
  expect(await available("other")).toBe(false);
  await clock.advance(1);
  expect(await available("other")).toBe(true);
});
