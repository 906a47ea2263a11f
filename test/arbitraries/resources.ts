/** Memory quantities, and catalogues of sizes: real and random ones. */
import fc from "fast-check";
import { fieldLimits, GiB, KiB, MiB } from "../../core/domain/accounts/limits.ts";
import { fitResources, type ResourceCatalogue, type Resources } from "../../core/domain/deploy/resources.ts";

const units: readonly (readonly [string, number])[] = [
  ["", 1],
  ["k", 1e3],
  ["M", 1e6],
  ["G", 1e9],
  ["T", 1e12],
  ["Ki", KiB],
  ["Mi", MiB],
  ["Gi", GiB],
  ["Ti", 1024 * GiB],
];

/** A quantity as text, and the number of bytes that it means. */
export interface MemoryQuantity {
  readonly text: string;
  readonly bytes: number;
}

const GRAINS = 1000n;

/** Quantities of one unit between the bounds, in thousandths of the unit. */
const ofUnit = (name: string, size: number, min: number, max: number): fc.Arbitrary<MemoryQuantity>[] => {
  const factor = BigInt(size);
  const whole = (grains: bigint) => (grains * factor + GRAINS - 1n) / GRAINS;
  const make = (decimals: boolean): fc.Arbitrary<MemoryQuantity>[] => {
    const grain = decimals ? 1n : GRAINS;
    const low = (BigInt(min) * GRAINS + factor * grain - 1n) / (factor * grain);
    const high = (BigInt(max) * GRAINS) / (factor * grain);
    if (low > high) return [];
    return [
      fc.bigInt(low, high).map((count) => {
        const grains = count * grain;
        const fraction = decimals ? `.${String(grains % GRAINS).padStart(3, "0")}` : "";
        return { text: `${grains / GRAINS}${fraction}${name}`, bytes: Number(whole(grains)) };
      }),
    ];
  };
  return [...make(false), ...make(true)];
};

/** A quantity of `min` to `max` bytes in any unit, with or without a fraction. */
export const memoryQuantity = (
  min: number = fieldLimits.memory.minBytes,
  max: number = 32 * GiB,
): fc.Arbitrary<MemoryQuantity> => fc.oneof(...units.flatMap(([name, size]) => ofUnit(name, size, min, max)));

/** Sizes like those of Cloud Run: any number of bytes between two bounds, and CPUs with gaps. */
export const cloudRunLikeCatalogue: ResourceCatalogue = [
  { cpu: 0.25, memory: { min: 128 * MiB, max: 512 * MiB, step: 1 }, concurrency: 1, mounts: false },
  { cpu: 0.5, memory: { min: 128 * MiB, max: GiB, step: 1 }, concurrency: 1, mounts: false },
  { cpu: 1, memory: { min: 128 * MiB, max: 4 * GiB, step: 1 } },
  { cpu: 2, memory: { min: 128 * MiB, max: 8 * GiB, step: 1 } },
  { cpu: 4, memory: { min: 2 * GiB, max: 16 * GiB, step: 1 } },
  { cpu: 6, memory: { min: 4 * GiB, max: 24 * GiB, step: 1 } },
  { cpu: 8, memory: { min: 4 * GiB, max: 32 * GiB, step: 1 } },
];

/** Sizes like those of Fargate: memory in steps that grow with the CPU, and in uneven steps for the smallest CPU. */
export const fargateLikeCatalogue: ResourceCatalogue = [
  { cpu: 0.25, memory: { min: 512 * MiB, max: GiB, step: 512 * MiB } },
  { cpu: 0.25, memory: { min: 2 * GiB, max: 2 * GiB, step: GiB } },
  { cpu: 0.5, memory: { min: GiB, max: 4 * GiB, step: GiB } },
  { cpu: 1, memory: { min: 2 * GiB, max: 8 * GiB, step: GiB } },
  { cpu: 2, memory: { min: 4 * GiB, max: 16 * GiB, step: GiB } },
  { cpu: 4, memory: { min: 8 * GiB, max: 30 * GiB, step: GiB } },
  { cpu: 8, memory: { min: 16 * GiB, max: 60 * GiB, step: 4 * GiB } },
  { cpu: 16, memory: { min: 32 * GiB, max: 120 * GiB, step: 8 * GiB } },
];

const randomCatalogue = (): fc.Arbitrary<ResourceCatalogue> => {
  const row = fc.record({
    cpu: fc.integer({ min: 1, max: 64 }),
    min: fc.integer({ min: 1, max: 64 * 1024 }),
    steps: fc.nat({ max: 40 }),
    step: fc.integer({ min: 1, max: 8 * 1024 }),
    // Added to the maximum. Unless it is a multiple of the step, no size reaches the maximum.
    slack: fc.nat({ max: 100 }),
  });
  return fc
    .tuple(
      fc.uniqueArray(row, { minLength: 1, maxLength: 6, selector: ({ cpu }) => cpu }),
      fc.constantFrom(1, KiB, MiB),
    )
    .map(([rows, unit]) => {
      let max = 0;
      return rows
        .toSorted((a, b) => a.cpu - b.cpu)
        .map(({ cpu, min, steps, step, slack }) => {
          max = Math.max(max, min + steps * step + slack);
          return { cpu, memory: { min: min * unit, max: max * unit, step: step * unit } };
        });
    });
};

/** Any catalogue. CPUs rise from row to row, and the maximum memory never falls. */
export const resourceCatalogue = (): fc.Arbitrary<ResourceCatalogue> =>
  fc.oneof(fc.constantFrom(cloudRunLikeCatalogue, fargateLikeCatalogue), randomCatalogue());

/** Resources that a client may request: not above the catalogue's maximum, and available in the catalogue. */
export const resourcesWithin = (catalogue: ResourceCatalogue): fc.Arbitrary<Resources> => {
  const maxMemory = Math.max(...catalogue.map((size) => size.memory.max));
  const marks = catalogue.flatMap(({ memory }) => [memory.min, memory.min + memory.step, memory.max]);
  const nearMark = fc
    .tuple(fc.constantFrom(...marks), fc.integer({ min: -1, max: 1 }))
    .map(([mark, by]) => Math.min(maxMemory, Math.max(1, mark + by)));
  return fc
    .record(
      {
        cpu: fc.oneof(
          { weight: 4, arbitrary: fc.integer({ min: 1, max: Math.max(...catalogue.map((size) => size.cpu)) }) },
          { weight: 1, arbitrary: fc.constantFrom(0.25, 0.5, 0.75) },
        ),
        memory: fc.oneof(nearMark, fc.integer({ min: 1, max: maxMemory })),
      },
      { noNullPrototype: true },
    )
    .filter((wanted) => fitResources(wanted, catalogue) !== undefined);
};
