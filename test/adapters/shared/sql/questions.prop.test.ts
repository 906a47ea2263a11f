/** The queries of docs/sql.md return what a plain computation over the same entries returns. */
import type { DuckDBConnection } from "@duckdb/node-api";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { openDatabase } from "../../../../adapters/shared/sql/database.ts";
import { addEntries } from "../../../../adapters/shared/sql/tables/catch-up.ts";
import type { EntryRow } from "../../../../adapters/shared/sql/tables/entries.ts";
import { setBilling } from "../../../../adapters/shared/sql/tables/set-billing.ts";
import { type Severity, severityNames } from "../../../../core/domain/logs/entry.ts";
import type { SqlValue } from "../../../../core/domain/sql/answer.ts";
import { sqlFunctionNames } from "../../../../core/domain/sql/functions.ts";
import { sqlTables } from "../../../../core/domain/sql/tables.ts";
import { rowsOf } from "../../../support/sql/sql.ts";
import { pageQuestions, questionOf, sqlPage } from "../../../support/sql/sql-page.ts";
import { runs } from "../../../support/vitest/runs.ts";

let connection: DuckDBConnection;
beforeAll(async () => {
  connection = await openDatabase(undefined);
});

const ask = async (statement: string): Promise<readonly (readonly SqlValue[])[]> => {
  const { rows, failure } = await rowsOf(connection, statement, { rows: 10_000, bytes: 1e7 });
  expect(failure).toBeUndefined();
  return rows;
};

const payload = fc.oneof(
  fc.record({
    level: fc.constant("usage"),
    user_id: fc.constantFrom("ann", "bob", "zoë", "o'neil"),
    cost: fc.integer({ min: 0, max: 10_000_000 }).map((micros) => micros / 1_000_000),
  }),
  fc.record({
    event: fc.constant("tool"),
    tool: fc.constantFrom("search", "shell"),
    ms: fc.integer({ min: 0, max: 500 }),
  }),
  fc.record({ kind: fc.constantFrom("timeout", "refused", null), n: fc.integer() }),
  fc.constant(undefined),
);

const DAY = 86_400_000_000_000n;
const entry = fc.record({
  service: fc.constantFrom("app", "shop"),
  day: fc.integer({ min: 0, max: 3 }),
  severity: fc.constantFrom<Severity>(...severityNames),
  instance: fc.constantFrom("i1", "i2", null),
  payload,
});
type Made = typeof entry extends fc.Arbitrary<infer T> ? T : never;

const BEGAN = 1_767_225_600_000_000_000n;
const nsOf = ({ day }: Made, index: number): bigint => BEGAN + BigInt(day) * DAY + BigInt(index) * 1_234_567_891n;

const rowOf = (made: Made, index: number): EntryRow => ({
  service: made.service,
  ns: nsOf(made, index),
  ord: index,
  severity: made.severity,
  log: "stdout",
  revision: null,
  instance: made.instance,
  text: made.payload === undefined ? "a line" : null,
  json: made.payload === undefined ? null : JSON.stringify(made.payload),
  http: null,
});

const groupBy = <T>(items: readonly T[], keyOf: (item: T) => string): [string, T[]][] => [
  ...Map.groupBy(items, keyOf).entries(),
];
/** Sorts rows, because ties of a sum have no defined order. */
const sorted = (rows: readonly (readonly unknown[])[]) => rows.map((row) => JSON.stringify(row)).sort();
const field = (made: Made, name: string): unknown =>
  (made.payload as Record<string, unknown> | undefined)?.[name] ?? undefined;

/** Formats millionths as decimal text without trailing zeros. */
const decimal = (micros: number): string => {
  const text = `${Math.floor(micros / 1_000_000)}.${String(micros % 1_000_000).padStart(6, "0")}`;
  return text.replace(/\.?0+$/, "");
};

const answers: Readonly<Record<string, (entries: readonly Made[]) => unknown[][]>> = {
  "Errors by kind": (entries) =>
    groupBy(
      entries
        .map((made, index) => ({ made, index }))
        .filter(({ made }) => ["ERROR", "CRITICAL", "ALERT", "EMERGENCY"].includes(made.severity)),
      ({ made }) => JSON.stringify([made.service, field(made, "kind") ?? "other"]),
    ).map(([key, all]) => {
      const last = all
        .map(({ made, index }) => nsOf(made, index))
        .toSorted((a, b) => Number(a - b))
        .at(-1) as bigint;
      return [...JSON.parse(key), all.length, last / 1000n];
    }),
  "Spend per user": (entries) =>
    groupBy(
      entries.filter((made) => field(made, "level") === "usage"),
      (made) => String(field(made, "user_id")),
    ).map(([user, all]) => [
      user,
      all.length,
      decimal(all.reduce((sum, made) => sum + Math.round(Number(field(made, "cost")) * 1_000_000), 0)),
    ]),
  "Slowest tools": (entries) =>
    groupBy(
      entries.filter((made) => field(made, "event") === "tool"),
      (made) => String(field(made, "tool")),
    ).map(([tool, all]) => {
      const ms = all.map((made) => Number(field(made, "ms"))).sort((a, b) => a - b);
      const at = (share: number) => ms[Math.max(0, Math.ceil((share * ms.length) / 100) - 1)];
      return [tool, all.length, at(50), at(95), ms.at(-1)];
    }),
  "Cold starts": (entries) => {
    const seen = entries
      .map((made, index) => ({ made, ns: nsOf(made, index) }))
      .filter(({ made }) => made.instance !== null);
    const starts = groupBy(seen, ({ made }) => JSON.stringify([made.service, made.instance])).map(([key, all]) => {
      const began = all.map(({ ns }) => ns).toSorted((a, b) => Number(a - b))[0] as bigint;
      return {
        service: JSON.parse(key)[0] as string,
        day: new Date(Number(began / 1_000_000n)).toISOString().slice(0, 10),
      };
    });
    return groupBy(starts, ({ service, day }) => JSON.stringify([service, day])).map(([key, all]) => [
      ...JSON.parse(key),
      all.length,
    ]);
  },
};

const MICROS = /^\d{4}-.*T/;
/** Converts timestamps to microseconds, so that both sides have the same form. */
const microsOf = (value: unknown): unknown => {
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "string" || !MICROS.test(value)) return value;
  const fraction = /\.(\d+)/.exec(value)?.[1] ?? "";
  return String(BigInt(Math.floor(Date.parse(value) / 1000)) * 1_000_000n + BigInt(fraction.padEnd(6, "0")));
};

test("checks all queries of the page", () => {
  expect(Object.keys(pageQuestions).sort()).toEqual([...Object.keys(answers), "Cost per deployment"].sort());
});

test("for any log, every query returns the result of a plain computation", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { maxLength: 60 }), async (entries) => {
      await connection.run("DELETE FROM entries");
      await addEntries(connection, entries.map(rowOf));
      for (const [title, compute] of Object.entries(answers)) {
        const rows = await ask(questionOf(title));
        expect(sorted(rows.map((row) => row.map(microsOf))), title).toEqual(
          sorted(compute(entries).map((row) => row.map(microsOf))),
        );
      }
    }),
    runs(25),
  );
}, 120_000);

test("sums the cost per deployment exactly, for any rows of billing", async () => {
  const charge = fc.record({
    resource_name: fc.constantFrom("app", "shop"),
    sku_description: fc.constantFrom("vCPU", "Memory"),
    millionths: fc.integer({ min: 0, max: 1e9 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(charge, { maxLength: 40 }), async (charges) => {
      await setBilling(
        connection,
        charges.map(({ resource_name, sku_description, millionths }) => ({
          usage_start_time: "2026-01-01T00:00:00+00:00",
          usage_end_time: "2026-01-02T00:00:00+00:00",
          service_description: "Portside",
          resource_name,
          sku_description,
          usage_amount: decimal(millionths),
          usage_unit: "second",
          cost: decimal(millionths),
          currency: "USD",
        })),
      );
      const expected = groupBy(charges, (one) => JSON.stringify([one.resource_name, one.sku_description])).map(
        ([key, all]) => {
          const sum = decimal(all.reduce((total, one) => total + one.millionths, 0));
          return [...JSON.parse(key), sum, "second", sum, "USD"];
        },
      );
      expect(sorted(await ask(questionOf("Cost per deployment")))).toEqual(sorted(expected));
    }),
    runs(15),
  );
}, 120_000);

test("the page names every function, and lists every table with its columns", () => {
  for (const name of sqlFunctionNames) expect(sqlPage).toContain(`\`${name}\``);
  for (const { name: table, description, columns } of sqlTables) {
    const rows = columns.map(({ name, type, description: meaning }) => `| \`${name}\` | \`${type}\` | ${meaning} |`);
    const head = [`**\`${table}\`**: ${description}`, "", "| column | type | meaning |", "| --- | --- | --- |"];
    expect(sqlPage).toContain([...head, ...rows, ""].join("\n"));
  }
});
