/**
 * Damages one or two files or folders of a data folder: flips bits, truncates, empties, removes or replaces them, or
 * changes their mode. The damage happens after a stop, after a crash or while the server runs. PORTSIDE_DAMAGES sets
 * the number of cases. The seeds are fixed, unless PORTSIDE_SEED sets the first.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type DamageCase, damage } from "../../../support/crashes/damage.ts";
import { type Bases, makeBases } from "../../../support/crashes/damaged-folder.ts";

const count = Number(process.env["PORTSIDE_DAMAGES"] ?? 25);
const first = process.env["PORTSIDE_DAMAGES"] === undefined ? 1 : Number(process.env["PORTSIDE_SEED"] ?? 1);

let bases: Bases;
const cases: DamageCase[] = [];
beforeAll(async () => {
  bases = await makeBases();
});
afterAll(() => {
  bases[Symbol.dispose]();
  const refused = cases.filter(({ outcome }) => outcome === "refused").length;
  const rebuilt = cases.filter(({ isRebuilt }) => isRebuilt).length;
  console.log(`${cases.length} cases of damage: ${refused} starts refused, ${rebuilt} rebuilt from records`);
});

test.each(Array.from({ length: count }, (_, n) => first + n))(
  "keeps every object, and serves everything after a repair: seed %i",
  { timeout: 240_000 },
  async (seed) => {
    cases.push(await damage(bases, seed));
  },
);

test("the damage caused both successful and refused starts", () => {
  if (count >= 25) expect(new Set(cases.map(({ outcome }) => outcome))).toEqual(new Set(["started", "refused"]));
});
