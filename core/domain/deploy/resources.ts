/**
 * CPU and memory: parses Kubernetes quantities and fits requests to the sizes of a provider.
 *
 * Quantities: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
 */
import { GiB, KiB, MiB } from "../accounts/limits.ts";

const units: Readonly<Record<string, number>> = {
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: KiB,
  Mi: MiB,
  Gi: GiB,
  Ti: 1024 * GiB,
};

const QUANTITY = /^(\d{1,15}(?:\.\d{1,9})?)(?:([kMGT]|[KMGT]i)|[eE](\d{1,2}))?$/;

/** The form of a memory quantity as JSON Schema. */
export const memoryShape = { pattern: QUANTITY.source } as const;

/** Parses a memory quantity such as `512Mi`, `1.5Gi`, `2G` or `1e9` to bytes. Returns undefined if it is invalid. */
export const parseMemory = (text: string): number | undefined => {
  const match = QUANTITY.exec(text);
  if (match === null) return undefined;
  const factor = match[3] === undefined ? BigInt(units[match[2] ?? ""] as number) : 10n ** BigInt(match[3]);
  // Uses integers: 261.011 × 1e9 is not 261011000000 in floating point.
  const [whole, fraction = ""] = (match[1] as string).split(".") as [string, string?];
  const scale = 10n ** BigInt(fraction.length);
  const bytes = Number((BigInt(whole + fraction) * factor + scale - 1n) / scale);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
};

/** Formats bytes exactly, in the largest unit that divides them. */
export const formatMemory = (bytes: number): string => {
  for (const unit of ["Ti", "T", "Gi", "G", "Mi", "M", "Ki", "k"]) {
    const size = units[unit] as number;
    if (bytes >= size && bytes % size === 0) return `${bytes / size}${unit}`;
  }
  return String(bytes);
};

/**
 * A size that a provider offers: a number of CPUs with memory from `min` to `max` bytes in steps of `step`. Uneven
 * steps need several sizes with the same CPU, sorted by memory.
 */
export interface ResourceSize {
  readonly cpu: number;
  readonly memory: { readonly min: number; readonly max: number; readonly step: number };
  /** The maximum number of concurrent requests per instance. Absent: no maximum. */
  readonly concurrency?: number;
  /** False if services of this size cannot mount volumes. */
  readonly mounts?: false;
}

/** All sizes of a provider, sorted by CPU. A size with more CPU must not have a lower memory maximum. */
export type ResourceCatalogue = readonly ResourceSize[];

/** CPU and memory of one instance. */
export interface Resources {
  readonly cpu: number;
  /** Bytes. */
  readonly memory: number;
}

/** A change to a declared value, made by a policy or to fit the provider, as data and as a message. */
export interface Adjustment {
  /** The wire name. */
  readonly field: string;
  readonly from: string;
  readonly to: string;
  readonly message: string;
}

export const maxCpu = (catalogue: ResourceCatalogue): number => Math.max(...catalogue.map((size) => size.cpu));
export const maxMemory = (catalogue: ResourceCatalogue): number =>
  Math.max(...catalogue.map((size) => size.memory.max));

const memoryWithin = (size: ResourceSize, wanted: number): number | undefined => {
  const { min, max, step } = size.memory;
  const raised = wanted <= min ? min : min + Math.ceil((wanted - min) / step) * step;
  return raised <= max ? raised : undefined;
};

/**
 * Returns the smallest size of the catalogue with at least the requested CPU and memory: least CPU first, then least
 * memory. Never lowers either value. Returns undefined if no size fits.
 */
export const fitResources = (wanted: Resources, catalogue: ResourceCatalogue): Resources | undefined => {
  for (const size of catalogue) {
    if (size.cpu < wanted.cpu) continue;
    const memory = memoryWithin(size, wanted.memory);
    if (memory !== undefined) return { cpu: size.cpu, memory };
  }
  return undefined;
};

const formatCpus = (count: number): string => (count <= 1 ? `${count} CPU` : `${count} CPUs`);

const sizeWith = (cpu: number, catalogue: ResourceCatalogue): ResourceSize | undefined =>
  catalogue.find((size) => size.cpu === cpu);

/** Returns the concurrency, lowered to the maximum of the size with this CPU. */
export const fitConcurrency = (wanted: number, cpu: number, catalogue: ResourceCatalogue): number =>
  Math.min(wanted, sizeWith(cpu, catalogue)?.concurrency ?? wanted);

/** Returns the adjustment if the concurrency was lowered. */
export const explainConcurrency = (wanted: number, fitted: number, cpu: number): Adjustment[] =>
  wanted === fitted
    ? []
    : [
        {
          field: "concurrency",
          from: String(wanted),
          to: String(fitted),
          message: `Concurrency lowered from ${wanted} to ${fitted}: the maximum with ${formatCpus(cpu)}`,
        },
      ];

/** Returns the smallest CPU that permits volumes. Returns undefined if the size with the given CPU permits them. */
export const cpuForMounts = (cpu: number, catalogue: ResourceCatalogue): number | undefined =>
  sizeWith(cpu, catalogue)?.mounts === false ? catalogue.find(({ mounts }) => mounts !== false)?.cpu : undefined;

/** Returns each value that `fitResources` raised, with the reason. */
export const explainFit = (wanted: Resources, fitted: Resources, catalogue: ResourceCatalogue): Adjustment[] => {
  const adjustments: Adjustment[] = [];
  const asked = formatMemory(wanted.memory);
  if (fitted.cpu !== wanted.cpu) {
    const nextCpu = catalogue.find((size) => size.cpu >= wanted.cpu)?.cpu;
    const why =
      nextCpu === fitted.cpu ? `this provider does not offer ${formatCpus(wanted.cpu)}` : `${asked} of memory needs it`;
    const [from, to] = [String(wanted.cpu), String(fitted.cpu)];
    adjustments.push({ field: "cpu", from, to, message: `CPU raised from ${from} to ${to}: ${why}` });
  }
  if (fitted.memory !== wanted.memory) {
    const size = sizeWith(fitted.cpu, catalogue);
    const to = formatMemory(fitted.memory);
    const why =
      size !== undefined && wanted.memory < size.memory.min
        ? `the minimum with ${formatCpus(fitted.cpu)} is ${formatMemory(size.memory.min)}`
        : `this provider does not offer ${asked} with ${formatCpus(fitted.cpu)}`;
    adjustments.push({ field: "memory", from: asked, to, message: `Memory raised from ${asked} to ${to}: ${why}` });
  }
  return adjustments;
};
