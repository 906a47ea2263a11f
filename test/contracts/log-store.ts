/** The contract suite of `LogStore` for appending and reading. */
import { expect } from "vitest";
import { comparePositions } from "../../core/domain/logs/cursor.ts";
import { type LogEntry, messageOf, type NewLogEntry } from "../../core/domain/logs/entry.ts";
import { readLine } from "../../core/domain/logs/line.ts";
import type { LogScope } from "../../core/ports/log-store.ts";
import type { ContractCase, StoreSubject } from "./harness.ts";
import { append, every, line, numbers, scopeOf, texts } from "./log-steps.ts";
import { expectOk } from "./support.ts";

type Case = ContractCase<StoreSubject>;

const newest = async ({ provider }: StoreSubject, scope: LogScope, limit = 1000): Promise<readonly LogEntry[]> =>
  (await expectOk(provider.logs.newest(scope, every(limit)))).entries;

/** The contract suite of `LogStore` for appending and reading. */
export const logStoreCases: readonly Case[] = [
  {
    group: "read",
    name: "a deployment without logs has no entries",
    run: async (subject) => expect(await newest(subject, scopeOf(subject))).toEqual([]),
  },
  {
    group: "read",
    name: "entries are returned with all their fields",
    run: async (subject) => {
      const scope = scopeOf(subject);
      const entries: NewLogEntry[] = [
        { ...line(scope, "päck my böx \u0001 \u2028"), severity: "DEFAULT", revision: "r-1", instance: "i-1" },
        {
          ...scope,
          severity: "CRITICAL",
          logName: "platform",
          json: { event: "crashed", nested: { list: [1, null, "x"] } },
        },
        {
          ...scope,
          severity: "WARNING",
          logName: "requests",
          http: { requestMethod: "GET", requestUrl: "http://x/", status: 404, latency: "0.001s" },
        },
      ];
      await append(subject, entries);
      expect(await newest(subject, scope)).toMatchObject(entries);
    },
  },
  {
    group: "read",
    name: "a line may nest to any depth, without affecting other lines",
    run: async (subject) => {
      const scope = scopeOf(subject);
      const nested = (levels: number) => `{"a":${"[".repeat(levels)}1${"]".repeat(levels)}}`;
      const lines = ["before", nested(8000), nested(90), nested(100_000), "behind"];
      await append(
        subject,
        lines.map((text) => ({ ...scope, logName: "stdout", ...readLine(text, "stdout") })),
      );
      expect((await newest(subject, scope)).map(messageOf)).toEqual(lines);
    },
  },
  {
    group: "read",
    name: "an entry that JSON cannot represent does not affect others",
    run: async (subject) => {
      const scope = scopeOf(subject);
      const cyclic: Record<string, unknown> = {};
      cyclic["itself"] = cyclic;
      for (const json of [cyclic, { n: 1n }] as Record<string, unknown>[])
        await append(subject, [
          line(scope, "before"),
          { ...scope, severity: "INFO", logName: "stdout", json },
          line(scope, "behind"),
        ]);
      expect(texts(await newest(subject, scope)).filter((text) => text !== undefined)).toEqual([
        "before",
        "behind",
        "before",
        "behind",
      ]);
    },
  },
  {
    group: "read",
    name: "appended entries are visible immediately, and the newest come last",
    run: async (subject) => {
      const scope = scopeOf(subject);
      for (const text of numbers(25)) await append(subject, [line(scope, text)]);
      expect(texts(await newest(subject, scope))).toEqual(numbers(25));
      expect(texts(await newest(subject, scope, 3))).toEqual(["22", "23", "24"]);
      expect(texts(await newest(subject, scope, 1))).toEqual(["24"]);
    },
  },
  {
    group: "order",
    name: "positions are unique and increase within a call, for any number of entries",
    run: async (subject) => {
      const scope = scopeOf(subject);
      await append(
        subject,
        numbers(900).map((text) => line(scope, text)),
      );
      const entries = await newest(subject, scope);
      expect(texts(entries)).toEqual(numbers(900));
      for (const [index, entry] of entries.entries())
        if (index > 0) expect(comparePositions(entries[index - 1] as LogEntry, entry)).toBeLessThan(0);
    },
  },
  {
    group: "order",
    name: "positions increase from call to call, even in quick succession",
    run: async (subject) => {
      const scope = scopeOf(subject);
      for (let call = 0; call < 100; call++)
        await append(subject, [line(scope, `${call} a`), line(scope, `${call} b`)]);
      const entries = await newest(subject, scope);
      for (const [index, entry] of entries.entries())
        if (index > 0) expect(comparePositions(entries[index - 1] as LogEntry, entry)).toBeLessThan(0);
      expect(texts(entries)).toEqual(numbers(100).flatMap((call) => [`${call} a`, `${call} b`]));
    },
  },
  {
    group: "order",
    name: "concurrent writers lose nothing, and each keeps its order",
    run: async (subject) => {
      const scope = scopeOf(subject);
      const writers = ["a", "b", "c"];
      const write = async (writer: string) => {
        for (const text of numbers(50)) await append(subject, [line(scope, `${writer}${text}`)]);
      };
      await Promise.all(writers.map(write));
      const seen = texts(await newest(subject, scope)) as string[];
      for (const writer of writers)
        expect(seen.filter((text) => text.startsWith(writer))).toEqual(numbers(50).map((text) => writer + text));
    },
  },
  {
    group: "scope",
    name: "deployments of one account, and deployments of one name, are separate",
    run: async (subject) => {
      const mine = scopeOf(subject);
      const sibling = { ...mine, service: subject.name() };
      const foreign = { ...mine, owner: subject.account() };
      await append(subject, [line(mine, "mine"), line(sibling, "sibling"), line(foreign, "foreign")]);
      expect(texts(await newest(subject, mine))).toEqual(["mine"]);
      expect(texts(await newest(subject, sibling))).toEqual(["sibling"]);
      expect(texts(await newest(subject, foreign))).toEqual(["foreign"]);
    },
  },
];
