/** Sums of usage compared with big integers, in any order and number. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decimalText, parseDecimal } from "../../../../core/domain/usage/decimal.ts";
import { readUsage } from "../../../../core/domain/usage/usage.ts";
import { UsageSums } from "../../../../core/domain/usage/usage-sums.ts";
import { runs } from "../../../support/vitest/runs.ts";

/** In units of 10^-12 dollars. */
const PICO = 12;
const costs = fc.bigInt(0n, 10n ** 15n);
const plain = (pico: bigint): string => {
  const text = String(pico).padStart(PICO + 1, "0");
  return `${text.slice(0, -PICO)}.${text.slice(-PICO)}`;
};

const lines = fc.array(fc.record({ user: fc.constantFrom("ann", "ben", ""), cost: costs, input: fc.nat() }));

const lineOf = ({ user, cost, input }: { user: string; cost: bigint; input: number }): string =>
  `{"level":"usage","model":"m","user_id":${JSON.stringify(user)},"input":${input},"output":1,"cost":${plain(cost)}}`;

const sumsOf = (all: readonly string[]): UsageSums => {
  const sums = new UsageSums();
  for (const line of all) {
    const usage = readUsage(line);
    if (usage === undefined) throw new Error(`cannot be read: ${line}`);
    sums.add(usage.user, usage);
  }
  return sums;
};

test("sums match the integers, in total and by group, in any order", () => {
  fc.assert(
    fc.property(
      lines.chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length }))),
      ([all, shuffled]) => {
        const sums = sumsOf(all.map(lineOf));
        const wanted = (some: typeof all) => some.reduce((sum, { cost }) => sum + cost, 0n);
        const pico = ({ digits, scale }: { digits: bigint; scale: number }) => digits * 10n ** BigInt(PICO - scale);
        expect(pico(sums.total.cost)).toBe(wanted(all));
        expect(sums.total.input).toBe(all.reduce((sum, { input }) => sum + BigInt(input), 0n));
        for (const [user, sum] of sums.groups())
          expect(pico(sum.cost)).toBe(wanted(all.filter((one) => (one.user || null) === user)));
        const told = (one: UsageSums) =>
          one.groups().map(([user, { cost, turns }]) => [user, decimalText(cost), turns]);
        expect(told(sumsOf(shuffled.map(lineOf)))).toEqual(told(sums));
      },
    ),
  );
});

test("the sum of 100,000 lines (a million in the soak) is exact to the last digit", () => {
  const { numRuns: many } = runs(100_000);
  const sums = new UsageSums();
  let wanted = 0n;
  let state = 1n;
  for (let n = 0; n < many; n++) {
    state = (state * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n) & 0xffff_ffff_ffff_ffffn;
    const pico = state >> 24n;
    wanted += pico;
    const usage = readUsage(lineOf({ user: n % 2 === 0 ? "ann" : "ben", cost: pico, input: n }));
    if (usage !== undefined) sums.add(usage.user, usage);
  }
  expect(sums.total.turns).toBe(many);
  expect(decimalText(sums.total.cost, PICO)).toBe(plain(wanted));
  expect(sums.total.input).toBe((BigInt(many) * BigInt(many - 1)) / 2n);
});

describe("a line", () => {
  const read = (fields: string) => readUsage(`{"level":"usage",${fields}}`);

  test("keeps every written digit", () => {
    expect(decimalText(read('"cost":0.12345678901234567890123')?.cost ?? { digits: 0n, scale: 0 })).toBe(
      "0.12345678901234567890123",
    );
  });

  test("has the same cost in every notation", () => {
    const written = fc
      .tuple(fc.bigInt(0n, 10n ** 20n), fc.nat(20), fc.option(fc.integer({ min: -20, max: 20 })))
      .map(
        ([digits, scale, exponent]) => `${decimalText({ digits, scale })}${exponent === null ? "" : `e${exponent}`}`,
      );
    fc.assert(
      fc.property(written, (text) => {
        const [cost, wanted] = [read(`"cost":${text}`)?.cost, parseDecimal(text)];
        if (cost == null || wanted === undefined) throw new Error(`cannot be read: ${text}`);
        expect(decimalText(cost)).toBe(decimalText(wanted));
      }),
    );
  });

  test.each([
    ['"cost":"0.10"', "0.1"],
    ['"cost":1e-7', "0.0000001"],
    ['"cost":0', "0"],
  ])("%s costs %s", (fields, cost) => {
    expect(decimalText(read(fields)?.cost ?? { digits: 1n, scale: 0 })).toBe(cost);
  });

  test("tokens, cost and names are optional", () => {
    expect(read('"input":3,"cost":null')).toMatchObject({ input: 3n, output: 0n, cost: null, user: null, model: null });
    expect(read('"input":"3","output":4.0,"user_id":7,"chat_id":""')).toMatchObject({
      input: 3n,
      output: 4n,
      user: "7",
      chat: null,
    });
  });

  test.each([
    ['"cost":-1'],
    ['"cost":"NaN"'],
    ['"cost":"much"'],
    ['"cost":true'],
    ['"cost":{}'],
    ['"cost":1e999'],
    ['"cost":1,"input":-1'],
    ['"cost":1,"output":0.5'],
    ['"cost":1,"cached":[]'],
  ])("rejects %s", (fields) => expect(read(fields)).toBeUndefined());

  test.each(["", "text", "null", "[]", '{"level":"info","cost":1}', '{"level":"usage","cost":NaN}'])(
    "ignores %s",
    (text) => expect(readUsage(text)).toBeUndefined(),
  );
});
