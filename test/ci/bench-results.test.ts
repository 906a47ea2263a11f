/** A benchmark fails if it measures nothing. */
import { expect, test } from "vitest";
import { runBench } from "../bench/bench.ts";

const benchOf = (unit: string, subject: number, peer = 1) => ({
  name: "example",
  title: "an example",
  unit,
  goals: [],
  prepare: async () => ({
    subject: { name: "portside", measure: async () => subject },
    peers: [{ name: "nginx", measure: async () => peer }],
    [Symbol.asyncDispose]: async () => undefined,
  }),
});

test.each([true, false])("fails if a contender answers no request (small: %s)", async (small) => {
  await expect(runBench(benchOf("requests/s", 0), small)).rejects.toThrow("'portside' measured 0 requests/s");
  await expect(runBench(benchOf("requests/s", 1, 0), small)).rejects.toThrow("'nginx' measured 0 requests/s");
});

test.each([Number.NaN, Number.POSITIVE_INFINITY])("fails if a measurement is %s", async (value) => {
  await expect(runBench(benchOf("ms", value), true)).rejects.toThrow(`'portside' measured ${value} ms`);
});

test("accepts a difference of 0", async () => {
  await expect(runBench(benchOf("MB", 0), true)).resolves.toMatchObject({ subject: { values: [0] } });
});

test("has no result if the machine cannot run the benchmark", async () => {
  const skipped = { ...benchOf("ms", 1), prepare: async () => ({ skipped: "Docker is not available" }) };
  await expect(runBench(skipped, true)).resolves.toEqual({ skipped: "Docker is not available" });
});
