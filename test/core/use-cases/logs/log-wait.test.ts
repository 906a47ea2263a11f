/** Requests that wait for a log entry: what ends the wait, and how many an account may have. */
import { expect, test } from "vitest";
import { type AccountId, type Principal, parseAccount } from "../../../../core/domain/accounts/account.ts";
import type { NewLogEntry } from "../../../../core/domain/logs/entry.ts";
import { type ControlPlaneError, unauthenticated, unavailable } from "../../../../core/errors.ts";
import { err, errAsync, ok, type Result } from "../../../../core/result.ts";
import type { RequestOptions } from "../../../../core/use-cases/pipeline/use-case.ts";
import { deployed, type MemoryOptions, startMemory } from "../../../support/providers/memory-platform.ts";

const owner = parseAccount("acme") as AccountId;

const line = (text: string): NewLogEntry => ({
  owner,
  service: "app" as never,
  severity: "INFO",
  logName: "stdout",
  text,
});

const started = async (options: MemoryOptions = {}) => {
  const platform = startMemory(options);
  await deployed(platform);
  const append = async (text: string) =>
    expect((await platform.memory.provider.logs.append([line(text)])).isOk()).toBe(true);
  await platform.clock.advance(1000);
  const { cursor } = (
    await platform.controlPlane.readLogs(platform.principal(), { deployment_name: "app" })
  )._unsafeUnwrap();
  /** A waiting request, and its result so far. */
  const waiting = (request: Record<string, unknown> = {}, signal?: AbortSignal, more: RequestOptions = {}) => {
    const state = { ended: false };
    const fields = { deployment_name: "app", since: cursor, wait: 25, ...request };
    const read = async () => {
      const result = await platform.controlPlane.readLogs(platform.principal(), fields, {
        ...more,
        ...(signal === undefined ? {} : { signal }),
      });
      state.ended = true;
      return result;
    };
    const answer = read();
    return { state, page: async () => (await answer)._unsafeUnwrap(), answer };
  };
  return { ...platform, append, waiting };
};

test("waits until an entry matches, and returns the entry", async () => {
  const { append, waiting, clock } = await started();
  const held = waiting({ query: "needle" });
  await clock.advance(5000);
  await append("hay");
  await clock.advance(5000);
  expect(held.state.ended).toBe(false);
  await append("needle");
  await clock.advance(200);
  expect(held.state.ended).toBe(true);
  expect((await held.page()).logs.map(({ message }) => message)).toEqual(["needle"]);
});

test("ends as soon as an entry matches", async () => {
  const { append, waiting, clock } = await started();
  const held = waiting({ query: "needle" });
  await clock.advance(20_000);
  await append("needle");
  await clock.advance(0);
  expect(held.state.ended).toBe(true);
  expect((await held.page()).logs.map(({ message }) => message)).toEqual(["needle"]);
});

test("finds an entry that arrives during the first read", async () => {
  let arrive: (() => Promise<void>) | undefined;
  const { append, waiting, clock } = await started({
    around: ({ logs }) => ({
      logs: {
        ...logs,
        after: (...args) =>
          logs.after(...args).map(async (found) => {
            await arrive?.();
            return found;
          }),
      },
    }),
  });
  arrive = async () => {
    arrive = undefined;
    await append("early");
  };
  const held = waiting();
  await clock.advance(0);
  expect(held.state.ended).toBe(true);
  expect((await held.page()).logs.map(({ message }) => message)).toEqual(["early"]);
});

test("limits the reads while entries arrive that do not match", async () => {
  let reads = 0;
  const { append, waiting, clock } = await started({
    around: ({ logs }) => ({
      logs: {
        ...logs,
        after: (...args) => {
          reads += 1;
          return logs.after(...args);
        },
      },
    }),
  });
  const held = waiting({ query: "needle", wait: 2 });
  for (let n = 0; n < 200; n++) {
    await append("hay");
    await clock.advance(10);
  }
  expect(await held.page()).toMatchObject({ logs: [] });
  expect(reads).toBeLessThanOrEqual(22);
});

test("returns immediately if an entry matches already", async () => {
  const { append, waiting } = await started();
  await append("one");
  expect((await waiting().page()).logs).toHaveLength(1);
});

test("returns an empty page after the wait, whose cursor leads to later entries", async () => {
  const { append, waiting, clock } = await started();
  const held = waiting({ wait: 3 });
  await clock.advance(2999);
  expect(held.state.ended).toBe(false);
  await clock.advance(1);
  const page = await held.page();
  expect(page.logs).toEqual([]);
  await append("late");
  expect((await waiting({ since: page.cursor }).page()).logs.map(({ message }) => message)).toEqual(["late"]);
});

test("ends when the client disconnects", async () => {
  const { waiting, clock } = await started();
  const client = new AbortController();
  const held = waiting({}, client.signal);
  await clock.advance(100);
  expect(held.state.ended).toBe(false);
  client.abort();
  await clock.advance(0);
  expect(held.state.ended).toBe(true);
});

test("ends with an empty page when the control plane closes, and later requests do not wait", async () => {
  const { waiting, clock, controlPlane } = await started();
  const held = waiting();
  await clock.advance(100);
  expect(held.state.ended).toBe(false);
  await controlPlane.close();
  await clock.advance(0);
  expect(held.state.ended).toBe(true);
  expect((await held.page()).logs).toEqual([]);
  expect(await waiting().page()).toMatchObject({ logs: [], pollAfterMs: 1000 });
});

test("an account has a limited number of requests that wait; further ones return immediately", async () => {
  const { waiting, clock, append } = await started({ settings: { logLimits: { waitingAtOnce: 2 } } });
  const held = [waiting(), waiting()];
  await clock.advance(100);
  expect(await waiting().page()).toMatchObject({ logs: [], pollAfterMs: 1000 });
  await append("one");
  await clock.advance(200);
  for (const one of held) expect((await one.page()).logs).toHaveLength(1);
  // The permits are free again.
  const { cursor } = await waiting().page();
  const next = waiting({ since: cursor });
  await clock.advance(100);
  expect(next.state.ended).toBe(false);
  await clock.advance(25_000);
  expect((await next.page()).logs).toEqual([]);
});

test("ends with the error within a poll interval after the credential becomes invalid", async () => {
  const { waiting, clock, principal } = await started();
  let current: Result<Principal, ControlPlaneError> = ok(principal());
  const held = () => waiting({}, undefined, { reauthenticate: async () => current });
  const revoked = held();
  await clock.advance(5000);
  expect(revoked.state.ended).toBe(false);
  current = err(unauthenticated("The key is not valid."));
  await clock.advance(1000);
  expect((await revoked.answer)._unsafeUnwrapErr()).toMatchObject({ kind: "unauthenticated" });
  current = ok(principal());
  const other = held();
  await clock.advance(0);
  current = ok({ ...principal(), account: parseAccount("zeta") as AccountId });
  await clock.advance(1000);
  expect((await other.answer)._unsafeUnwrapErr()).toMatchObject({ kind: "unauthenticated" });
});

test("does not return an entry if the credential became invalid during the read", async () => {
  let current: Result<Principal, ControlPlaneError> | undefined;
  const { append, waiting, clock, principal } = await started({
    around: ({ logs }) => ({
      logs: {
        ...logs,
        after: (...args) =>
          logs.after(...args).map((found) => {
            if (found.entries.length > 0) current = err(unauthenticated("The key is not valid."));
            return found;
          }),
      },
    }),
  });
  current = ok(principal());
  const held = waiting({}, undefined, {
    reauthenticate: async () => current as Result<Principal, ControlPlaneError>,
  });
  await clock.advance(1000);
  await append("secret");
  await clock.advance(1000);
  expect((await held.answer)._unsafeUnwrapErr()).toMatchObject({ kind: "unauthenticated" });
});

test("an error of the store ends the wait", async () => {
  let isDown = false;
  const { waiting, clock } = await started({
    around: ({ logs }) => ({
      logs: { ...logs, after: (...args) => (isDown ? errAsync(unavailable("down", 1)) : logs.after(...args)) },
    }),
  });
  const held = waiting();
  await clock.advance(1000);
  isDown = true;
  await clock.advance(200);
  expect((await held.answer)._unsafeUnwrapErr().kind).toBe("unavailable");
});

test("reads no more often than the store's quota allows", async () => {
  let reads = 0;
  const { waiting, clock } = await started({
    around: ({ logs }) => ({
      logs: {
        ...logs,
        after: (...args) => {
          reads += 1;
          return logs.after(...args).map((found) => ({ ...found, pollAfterMs: 5000 }));
        },
      },
    }),
  });
  const held = waiting({ wait: 20 });
  await clock.advance(20_000);
  expect(await held.page()).toMatchObject({ logs: [] });
  expect(reads).toBe(5);
});
