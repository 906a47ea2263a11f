/**
 * kill -9 at any moment of deploys, first deploys, deletes and requests. It hits the engine, the server, both together,
 * or one process with both. PORTSIDE_KILLS sets the number of kills (10), PORTSIDE_SEED the first seed (random).
 */
import { randomInt } from "node:crypto";
import { afterAll, describe, expect, test } from "vitest";
import { type Crash, crash } from "../support/crashes/crash.ts";
import { runners } from "../support/providers/local-platform.ts";

const count = Number(process.env["PORTSIDE_KILLS"] ?? 10);
const first = Number(process.env["PORTSIDE_SEED"] ?? randomInt(2 ** 31));

/** Each of the four modes of `crash` occurs with every runner. */
const seeds = Array.from({ length: count }, (_, n) => ({
  seed: first + n,
  runner: runners[Math.floor((first + n) / 4) % runners.length] as (typeof runners)[number],
}));

const crashes: Crash[] = [];
afterAll(() => {
  const worst = Math.max(...crashes.map(({ answered }) => answered));
  const cut = crashes.reduce((sum, one) => sum + one.cut, 0);
  console.log(
    `${crashes.length} kills interrupted ${cut} deploys; everything responded at most ${worst} ms after ready`,
  );
});

describe.concurrent("after kill -9 the old or the new revision serves and nothing partial remains", () => {
  test.each(seeds)("seed $seed ($runner)", { timeout: 120_000 }, async ({ seed, runner }) => {
    try {
      crashes.push(await crash(seed, runner));
    } catch (error) {
      throw new Error(`Reproduce with PORTSIDE_KILLS=1 PORTSIDE_SEED=${seed}: ${(error as Error).message}`, {
        cause: error,
      });
    }
  });
});

test("the kills happened during deploys", () => {
  if (count >= 10) expect(crashes.some(({ cut }) => cut > 0)).toBe(true);
});
