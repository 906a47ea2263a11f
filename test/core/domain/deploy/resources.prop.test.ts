/** `fitResources` agrees with an exhaustive search of the catalogue, and `parseMemory` with exact arithmetic. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  explainFit,
  fitResources,
  formatMemory,
  parseMemory,
  type ResourceCatalogue,
  type Resources,
} from "../../../../core/domain/deploy/resources.ts";
import { memoryQuantity, resourceCatalogue } from "../../../arbitraries/index.ts";
import { runs } from "../../../support/vitest/runs.ts";

/**
 * Any size that a client may declare, including sizes outside the catalogue; often near the catalogue's own numbers.
 */
const asked = (catalogue: ResourceCatalogue): fc.Arbitrary<Resources> => {
  const marks = catalogue.flatMap(({ memory }) => [memory.min, memory.max, memory.min + memory.step]);
  const near = fc
    .tuple(fc.constantFrom(...marks), fc.integer({ min: -2, max: 2 }))
    .map(([mark, by]) => Math.max(1, mark + by));
  return fc.record({
    cpu: fc.integer({ min: 1, max: 70 }),
    memory: fc.oneof(near, fc.integer({ min: 1, max: 2 * Math.max(...marks) })),
  });
};

const withCatalogue = resourceCatalogue().chain((catalogue) =>
  fc.record({ catalogue: fc.constant(catalogue), wanted: asked(catalogue) }),
);

/** The reference: for each CPU of the catalogue, the smallest sufficient memory, if there is one. */
const onOffer = (catalogue: ResourceCatalogue, { memory: wanted }: Resources): Resources[] =>
  catalogue.flatMap(({ cpu, memory: { min, max, step } }) => {
    const steps = wanted <= min ? 0 : Math.ceil((wanted - min) / step);
    const memory = min + steps * step;
    return memory <= max ? [{ cpu, memory }] : [];
  });

const isIn = ({ cpu, memory }: Resources, catalogue: ResourceCatalogue): boolean =>
  catalogue.some(
    (size) =>
      size.cpu === cpu &&
      memory >= size.memory.min &&
      memory <= size.memory.max &&
      (memory - size.memory.min) % size.memory.step === 0,
  );

test("never lowers a declared value and always returns a size of the catalogue", () => {
  fc.assert(
    fc.property(withCatalogue, ({ catalogue, wanted }) => {
      const fitted = fitResources(wanted, catalogue);
      if (fitted === undefined) return;
      expect(fitted.cpu).toBeGreaterThanOrEqual(wanted.cpu);
      expect(fitted.memory).toBeGreaterThanOrEqual(wanted.memory);
      expect(isIn(fitted, catalogue)).toBe(true);
    }),
    runs(1000),
  );
});

test("returns the smallest sufficient CPU, then the smallest memory; none only if no size fits", () => {
  fc.assert(
    fc.property(withCatalogue, ({ catalogue, wanted }) => {
      const enough = onOffer(catalogue, wanted).filter(({ cpu }) => cpu >= wanted.cpu);
      const least = enough.toSorted((a, b) => a.cpu - b.cpu || a.memory - b.memory)[0];
      expect(fitResources(wanted, catalogue)).toEqual(least);
    }),
    runs(1000),
  );
});

test("a fitted size fits unchanged and has no explanation", () => {
  fc.assert(
    fc.property(withCatalogue, ({ catalogue, wanted }) => {
      const fitted = fitResources(wanted, catalogue);
      fc.pre(fitted !== undefined);
      expect(fitResources(fitted, catalogue)).toEqual(fitted);
      expect(explainFit(fitted, fitted, catalogue)).toEqual([]);
    }),
    runs(500),
  );
});

test("explains exactly the raised values, from old to new", () => {
  fc.assert(
    fc.property(withCatalogue, ({ catalogue, wanted }) => {
      const fitted = fitResources(wanted, catalogue);
      fc.pre(fitted !== undefined);
      const changes = explainFit(wanted, fitted, catalogue).map(({ field, from, to }) => [field, from, to]);
      const cpu = fitted.cpu === wanted.cpu ? [] : [["cpu", String(wanted.cpu), String(fitted.cpu)]];
      const memory =
        fitted.memory === wanted.memory ? [] : [["memory", formatMemory(wanted.memory), formatMemory(fitted.memory)]];
      expect(changes).toEqual([...cpu, ...memory]);
    }),
    runs(500),
  );
});

test("reads a quantity exactly in any unit, rounded up to a whole byte", () => {
  fc.assert(
    fc.property(memoryQuantity(0, 8 * 1024 ** 4), ({ text, bytes }) => {
      expect(parseMemory(text)).toBe(bytes);
    }),
    runs(1000),
  );
});

test("formatted bytes parse to the same number", () => {
  fc.assert(
    fc.property(memoryQuantity(0, 8 * 1024 ** 4), ({ bytes }) => {
      expect(parseMemory(formatMemory(bytes))).toBe(bytes);
    }),
    runs(1000),
  );
});
