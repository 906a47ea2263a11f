/** The fit of CPU and memory against a search of the whole catalogue, and quantities against exact arithmetic. */
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

/** Anything a client may ask for, also what no size gives; near the catalogue's own numbers more often than not. */
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

/** Every size of the catalogue with the least memory from `memory` on: the slow way to say what is on offer. */
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

test("the fit never lowers what was asked and always lands in the catalogue", () => {
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

test("the fit is the least CPU that will do, then the least memory; none only where there is none", () => {
  fc.assert(
    fc.property(withCatalogue, ({ catalogue, wanted }) => {
      const enough = onOffer(catalogue, wanted).filter(({ cpu }) => cpu >= wanted.cpu);
      const least = enough.toSorted((a, b) => a.cpu - b.cpu || a.memory - b.memory)[0];
      expect(fitResources(wanted, catalogue)).toEqual(least);
    }),
    runs(1000),
  );
});

test("what was fitted once fits as it is, and there is nothing to say about it", () => {
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

test("exactly what was raised is explained, from what to what", () => {
  fc.assert(
    fc.property(withCatalogue, ({ catalogue, wanted }) => {
      const fitted = fitResources(wanted, catalogue);
      fc.pre(fitted !== undefined);
      const said = explainFit(wanted, fitted, catalogue).map(({ field, from, to }) => [field, from, to]);
      const cpu = fitted.cpu === wanted.cpu ? [] : [["cpu", String(wanted.cpu), String(fitted.cpu)]];
      const memory =
        fitted.memory === wanted.memory ? [] : [["memory", formatMemory(wanted.memory), formatMemory(fitted.memory)]];
      expect(said).toEqual([...cpu, ...memory]);
    }),
    runs(500),
  );
});

test("a quantity is read exactly, whatever its unit, rounded up to a whole byte", () => {
  fc.assert(
    fc.property(memoryQuantity(0, 8 * 1024 ** 4), ({ text, bytes }) => {
      expect(parseMemory(text)).toBe(bytes);
    }),
    runs(1000),
  );
});

test("bytes that are written are read back", () => {
  fc.assert(
    fc.property(memoryQuantity(0, 8 * 1024 ** 4), ({ bytes }) => {
      expect(parseMemory(formatMemory(bytes))).toBe(bytes);
    }),
    runs(1000),
  );
});
