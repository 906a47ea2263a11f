/** The reading use cases: whether a name is free, which services run, and their logs. */
import { describe, expect, test } from "vitest";
import { memoryCapabilities } from "../../../../adapters/memory/capabilities.ts";
import { faulty } from "../../../../adapters/memory/index.ts";
import type { NewLogEntry } from "../../../../core/domain/logs/entry.ts";
import { missing } from "../../../../core/domain/wire/capabilities.ts";
import { parseDateTime } from "../../../../core/domain/wire/instant.ts";
import { unavailable } from "../../../../core/errors.ts";
import { deployed, listed, startMemory } from "../../../support/providers/memory-platform.ts";

describe("check-name", () => {
  const check = async (name: unknown, account?: string, platform = startMemory()) =>
    platform.controlPlane.checkName(platform.principal(account), (name === undefined ? {} : { name }) as never);

  test("a free name is available, without a reason", async () => {
    expect((await check("my_app"))._unsafeUnwrap()).toEqual({ available: true, reason: "" });
  });

  test("an invalid name returns the broken rule, not an error", async () => {
    expect((await check("My App"))._unsafeUnwrap()).toEqual({
      available: false,
      reason: "a name must contain only lowercase letters a-z, digits and '-'",
    });
    expect((await check(""))._unsafeUnwrap().available).toBe(false);
    expect((await check("www"))._unsafeUnwrap().reason).toContain("reserved");
  });

  test("a name of the caller is available: a deploy updates the service", async () => {
    const platform = startMemory();
    await deployed(platform);
    expect((await check("app", "acme", platform))._unsafeUnwrap().available).toBe(true);
    expect((await check("app", "other", platform))._unsafeUnwrap().available).toBe(false);
  });

  test("a missing name is an error", async () => {
    expect((await check(undefined))._unsafeUnwrapErr()).toMatchObject({
      issues: [{ path: ["name"], type: "missing" }],
    });
  });

  test("reserved names are a setting", async () => {
    const platform = startMemory({ settings: { reservedNames: ["mine"] } });
    expect((await check("www", "acme", platform))._unsafeUnwrap().available).toBe(true);
    expect((await check("mine", "acme", platform))._unsafeUnwrap().available).toBe(false);
  });
});

test("the list is sorted by name", async () => {
  const platform = startMemory();
  for (const name of ["zebra", "ant", "m-2", "m-10"]) await deployed(platform, { function_name: name });
  expect((await listed(platform)).map(({ name }) => name)).toEqual(["ant", "m-10", "m-2", "zebra"]);
});

describe("logs", () => {
  const withLines = async (count: number) => {
    const platform = startMemory();
    await deployed(platform);
    const { account: owner } = platform.principal();
    const lines = Array.from(
      { length: count },
      (_, index): NewLogEntry => ({
        owner,
        service: "app" as never,
        severity: "INFO",
        logName: "stdout",
        text: `line ${index}`,
      }),
    );
    expect((await platform.memory.provider.logs.append(lines)).isOk()).toBe(true);
    return platform;
  };

  test("returns the newest entries, oldest first, 100 by default, with a cursor", async () => {
    const { controlPlane, principal } = await withLines(150);
    const read = async (request: Record<string, unknown>) =>
      (await controlPlane.readLogs(principal(), { deployment_name: "app", ...request }))._unsafeUnwrap();
    const page = await read({});
    expect(page.logs).toHaveLength(100);
    expect([page.logs[0]?.message, page.logs.at(-1)?.message]).toEqual(["line 50", "line 149"]);
    expect((await read({ limit: "2" })).logs.map(({ message }) => message)).toEqual(["line 148", "line 149"]);
    expect(parseDateTime(page.cursor)).toBeDefined();
  });

  test("returns 404 for an unknown deployment", async () => {
    const { controlPlane, principal } = startMemory();
    expect((await controlPlane.readLogs(principal(), { deployment_name: "app" }))._unsafeUnwrapErr().kind).toBe(
      "not_found",
    );
    expect((await controlPlane.readLogs(principal(), {} as never))._unsafeUnwrapErr()).toMatchObject({
      issues: [{ path: ["deployment_name"], type: "missing" }],
    });
  });

  test("an unsupported since or query is an issue of that field; absent, null and empty values are ignored", async () => {
    const { logs } = memoryCapabilities;
    const capabilities = { logs: { ...logs, since: missing("no cursors"), query: missing("no filters") } };
    const platform = startMemory({ capabilities });
    await deployed(platform);
    const read = async (request: Record<string, unknown>) =>
      platform.controlPlane.readLogs(platform.principal(), { deployment_name: "app", ...request });
    expect((await read({ since: "2026-01-01T00:00:00Z", query: "severity>=ERROR" }))._unsafeUnwrapErr()).toMatchObject({
      issues: [
        { path: ["since"], type: "unsupported" },
        { path: ["query"], type: "unsupported" },
      ],
    });
    expect((await read({ since: null, query: "" })).isOk()).toBe(true);
  });

  test("an empty log has a page whose cursor is just before the time of the request", async () => {
    const platform = startMemory({
      around: ({ logs, services }, clock) => ({
        services: faulty(services, () => undefined),
        logs: {
          append: logs.append,
          after: logs.after,
          newest: (...args) =>
            logs.newest(...args).map(() => {
              void clock.advance(5000);
              return { entries: [], partial: false };
            }),
        },
      }),
    });
    await deployed(platform);
    const asked = platform.clock.now();
    const page = await platform.controlPlane.readLogs(platform.principal(), { deployment_name: "app" });
    expect(page._unsafeUnwrap().logs).toEqual([]);
    expect(parseDateTime(page._unsafeUnwrap().cursor)?.instant).toBe(asked - 1n);
  });
});

test("every call reports a provider that is down", async () => {
  const down = () => ({ error: unavailable("down") });
  const platform = startMemory({
    around: ({ services, logs }) => ({ services: faulty(services, down), logs: faulty(logs, down) }),
  });
  const { controlPlane, principal } = platform;
  const answers = [
    await controlPlane.checkName(principal(), { name: "app" }),
    await controlPlane.listDeployments(principal()),
    await controlPlane.readLogs(principal(), { deployment_name: "app" }),
    await controlPlane.deleteDeployment(principal(), { name: "app" }),
    await controlPlane.plan(principal(), { fields: { function_name: "app", volumes: {} } }),
  ];
  for (const answer of answers)
    expect(answer._unsafeUnwrapErr()).toMatchObject({ kind: "unavailable", retryAfterSeconds: 5 });
});
