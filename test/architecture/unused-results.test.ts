/** No Result is discarded, and the check finds the four ways to discard one. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { findUnusedResults } from "./unused-results.ts";

const seeded = `
import { err, ok, okAsync, type Result } from "${resolve("core/result.ts")}";
const now = (): Result<number, string> => (Math.random() > 0.5 ? ok(1) : err("no"));
const promised = async (): Promise<Result<number, string>> => now();
now();
okAsync(1);
promised();
const run = async () => {
  await okAsync(1);
  const kept = await promised();
  void okAsync(2);
  let last = await promised();
  last = await promised();
  last ??= await promised();
  return [kept, last];
};
void run;
`;

test("finds the four ways to discard a Result, and no other statement", () => {
  const folder = mkdtempSync(resolve("test/architecture/seeded-"));
  try {
    writeFileSync(join(folder, "seeded.ts"), seeded);
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({ extends: resolve("tsconfig.json"), include: ["seeded.ts"] }),
    );
    const { unused } = findUnusedResults(join(folder, "tsconfig.json"));
    const own = unused.filter(({ file }) => file.includes("seeded"));
    expect(own.map(({ line }) => line)).toEqual([5, 6, 7, 9]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

// Type-checks the whole project, which is slow on a busy machine.
test("the project discards none", { timeout: 180_000 }, () => {
  const { files, unused } = findUnusedResults("tsconfig.json");
  expect(files).toBeGreaterThan(100);
  expect(unused).toEqual([]);
});
