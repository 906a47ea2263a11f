/** The published generators: valid values pass validation, every edge case occurs, and a seed determines the value. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { deployFields } from "../../core/domain/deploy/fields.ts";
import { isTimeZone, parseCron } from "../../core/domain/schedules/schedule.ts";
import { mountPathProblem } from "../../core/domain/volumes/mounts.ts";
import { deploymentNameProblem, volumeNameProblem } from "../../core/domain/wire/names.ts";
import * as arbitraries from "../arbitraries/index.ts";
import { runs } from "../support/vitest/runs.ts";

const sampled = <T>(arbitrary: fc.Arbitrary<T>, count = 2000): T[] => fc.sample(arbitrary, runs(count));
const reached = <T>(values: readonly T[], ...edges: ((value: T) => boolean)[]): void => {
  for (const edge of edges) expect(values.filter(edge).length, String(edge)).toBeGreaterThan(0);
};

describe("valid values pass validation", () => {
  test.each<[string, fc.Arbitrary<string>, (text: string) => boolean]>([
    ["deployment names", arbitraries.deploymentName(), (name) => deploymentNameProblem(name) === undefined],
    ["volume names", arbitraries.volumeName(), (name) => volumeNameProblem(name) === undefined],
    ["mount paths", arbitraries.mountPath(), (path) => mountPathProblem(path) === undefined],
    ["cron expressions", arbitraries.cronExpression(), (cron) => typeof parseCron(cron) === "object"],
    ["time zones", arbitraries.timezone(), isTimeZone],
  ])("%s", (_what, arbitrary, holds) => {
    fc.assert(fc.property(arbitrary, holds), runs(500));
  });

  test("generated catalogues are valid: CPUs or memory rise, and a later size never offers less memory", () => {
    fc.assert(
      fc.property(arbitraries.resourceCatalogue(), (catalogue) => {
        for (const [index, { cpu, memory }] of catalogue.entries()) {
          const next = catalogue[index + 1];
          expect(memory.min).toBeLessThanOrEqual(memory.max);
          expect(memory.step).toBeGreaterThan(0);
          if (next !== undefined) expect(next.cpu).toBeGreaterThanOrEqual(cpu);
          if (next?.cpu === cpu) expect(next.memory.min).toBeGreaterThan(memory.max);
          if (next !== undefined) expect(next.memory.max).toBeGreaterThanOrEqual(memory.max);
        }
      }),
      runs(300),
    );
  });
});

describe("reaches the edge cases", () => {
  test("names of every length", () => {
    reached(
      sampled(arbitraries.deploymentName()),
      (name) => name.length === 1,
      (name) => name.length === 49,
      (name) => name.includes("--"),
    );
    reached(
      sampled(arbitraries.volumeName()),
      (name) => name.length === 40,
      (name) => /^\d/.test(name),
    );
  });

  test("templates with all fields set", () => {
    reached(
      sampled(arbitraries.serviceTemplate()),
      ({ mounts }) => mounts.length === 10,
      ({ mounts }) => mounts.some(({ subPath, readOnly }) => subPath !== undefined && readOnly),
      ({ mounts }) => new Set(mounts.map(({ path }) => path.length)).size > 3,
      ({ env }) => Object.hasOwn(env, "__proto__"),
      ({ env }) => Object.values(env).some((value) => /\p{Script=Han}/u.test(value)),
      ({ env }) => Object.values(env).includes(""),
      ({ schedule }) => schedule === null,
      ({ schedule }) => schedule !== null && schedule.timezone !== "UTC",
      ({ owner }) => owner.includes(":"),
      ({ maxInstances }) => maxInstances === 0,
    );
  });

  test("cron in every notation", () => {
    reached(
      sampled(arbitraries.cronExpression()),
      (cron) => /[a-z]{3}/i.test(cron),
      (cron) => /\d-\d/.test(cron),
      (cron) => cron.includes("*/"),
      (cron) => /\d\/\d/.test(cron),
      (cron) => cron.includes(","),
    );
    reached(sampled(arbitraries.cronCase(), 5000), ({ occurs }) => !occurs);
  });

  test("quantities in every unit, with and without a fraction", () => {
    const texts = sampled(arbitraries.memoryQuantity()).map(({ text }) => text);
    reached(
      texts,
      ...["k", "M", "G", "Ki", "Mi", "Gi"].map((unit) => (text: string) => text.endsWith(unit)),
      (text) => /^\d+$/.test(text),
      (text) => text.includes("."),
    );
  });
});

describe("invalid requests", () => {
  const broken = sampled(arbitraries.brokenDeployRequest(), 3000);

  test("break every field that has its own parser", () => {
    const fields = new Set(broken.map(({ field }) => field));
    // The source is not a field: it is missing if the request has no archive.
    for (const field of Object.keys(deployFields).filter((name) => name !== "source_object"))
      expect(fields).toContain(field);
    expect([...fields].some((field) => !(field in deployFields))).toBe(true);
  });

  test("break fields with every issue code of the contract", () => {
    const types = new Set(broken.map(({ type }) => type));
    const words = [
      "missing",
      "extra_forbidden",
      "string_type",
      "string_too_short",
      "string_too_long",
      "string_pattern_mismatch",
      "int_parsing",
      "bool_parsing",
      "dict_type",
      "greater_than_equal",
      "less_than_equal",
      "json_invalid",
      "value_error",
      "too_large",
    ];
    for (const word of words) expect(types).toContain(word);
  });
});

test("the same seed gives the same values", () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const once = () =>
        fc.sample(fc.tuple(arbitraries.serviceTemplate(), arbitraries.brokenDeployRequest()), { seed, numRuns: 3 });
      expect(once()).toEqual(once());
    }),
    runs(10),
  );
});

test("the hostile strings are distinct", () => {
  expect(new Set(arbitraries.nastyStrings).size).toBe(arbitraries.nastyStrings.length);
});
