/** Memory quantities and the fit to a catalogue, by example. */
import { describe, expect, test } from "vitest";
import { GiB, MiB } from "../../../../core/domain/accounts/limits.ts";
import {
  cpuForMounts,
  explainConcurrency,
  explainFit,
  fitConcurrency,
  fitResources,
  formatMemory,
  parseMemory,
} from "../../../../core/domain/deploy/resources.ts";
import { cloudRunLikeCatalogue, fargateLikeCatalogue } from "../../../arbitraries/index.ts";

describe("parseMemory", () => {
  test.each([
    ["512Mi", 512 * MiB],
    ["1Gi", GiB],
    ["2G", 2_000_000_000],
    ["1.5Gi", 1.5 * GiB],
    ["500k", 500_000],
    ["1Ki", 1024],
    ["1Ti", 1024 * GiB],
    ["1T", 1e12],
    ["1e9", 1e9],
    ["2E8", 2e8],
    ["134217728", 128 * MiB],
    ["0", 0],
    // Half a byte rounds up: a quantity never becomes smaller.
    ["0.5", 1],
    ["1.0001k", 1001],
    // Not 261011000001: in floating point, 261.011 * 1e9 is slightly more than 261011000000.
    ["261.011G", 261_011_000_000],
  ])("%s is %d bytes", (text, bytes) => expect(parseMemory(text)).toBe(bytes));

  test.each([
    "",
    "Gi",
    "-1Gi",
    "+1Gi",
    "1 Gi",
    " 1Gi",
    "1gi",
    "1GiB",
    "1GB",
    "1m",
    "1,5Gi",
    "1.Gi",
    ".5Gi",
    "1e",
    "1e9Gi",
    "1e999",
    "9999999Ti",
  ])("rejects '%s'", (text) => expect(parseMemory(text)).toBeUndefined());
});

describe("formatMemory", () => {
  test.each([
    [512 * MiB, "512Mi"],
    [GiB, "1Gi"],
    [1.5 * GiB, "1536Mi"],
    [2_000_000_000, "2G"],
    [1000, "1k"],
    [1001, "1001"],
    [0, "0"],
  ])("%d bytes are %s", (bytes, text) => expect(formatMemory(bytes)).toBe(text));
});

describe("fitResources", () => {
  test.each([
    ["a size of the catalogue is unchanged", { cpu: 2, memory: 4 * GiB }, { cpu: 2, memory: 4 * GiB }],
    ["more CPU if the memory needs it", { cpu: 1, memory: 8 * GiB }, { cpu: 2, memory: 8 * GiB }],
    ["the next CPU if the catalogue lacks this one", { cpu: 3, memory: 4 * GiB }, { cpu: 4, memory: 4 * GiB }],
    ["more memory if the CPU needs it", { cpu: 4, memory: GiB }, { cpu: 4, memory: 2 * GiB }],
    ["a fraction is unchanged", { cpu: 0.5, memory: GiB }, { cpu: 0.5, memory: GiB }],
    ["the next fraction", { cpu: 0.3, memory: 512 * MiB }, { cpu: 0.5, memory: 512 * MiB }],
    ["a whole CPU if the memory needs it", { cpu: 0.25, memory: GiB + 1 }, { cpu: 1, memory: GiB + 1 }],
    ["both", { cpu: 5, memory: 2 * GiB }, { cpu: 6, memory: 4 * GiB }],
    ["both raised", { cpu: 1, memory: 20 * GiB }, { cpu: 6, memory: 20 * GiB }],
    ["beyond all sizes: none", { cpu: 1, memory: 33 * GiB }, undefined],
    ["beyond all CPUs: none", { cpu: 9, memory: GiB }, undefined],
  ])("Cloud Run: %s", (_what, wanted, fitted) => expect(fitResources(wanted, cloudRunLikeCatalogue)).toEqual(fitted));

  test("Fargate: memory is raised to the next step", () => {
    expect(fitResources({ cpu: 8, memory: 17 * GiB }, fargateLikeCatalogue)).toEqual({ cpu: 8, memory: 20 * GiB });
    expect(fitResources({ cpu: 1, memory: 2 * GiB + 1 }, fargateLikeCatalogue)).toEqual({ cpu: 1, memory: 3 * GiB });
  });

  test("rejects a maximum that no step reaches", () => {
    const catalogue = [{ cpu: 1, memory: { min: 128 * MiB, max: GiB, step: 300 * MiB } }];
    expect(fitResources({ cpu: 1, memory: GiB }, catalogue)).toBeUndefined();
    expect(fitResources({ cpu: 1, memory: 1028 * MiB }, catalogue)).toBeUndefined();
    expect(fitResources({ cpu: 1, memory: 728 * MiB }, catalogue)).toEqual({ cpu: 1, memory: 728 * MiB });
  });
});

test("memory in uneven steps takes the next size with the same CPU", () => {
  const wanted = { cpu: 0.25, memory: GiB + 1 };
  const fitted = { cpu: 0.25, memory: 2 * GiB };
  expect(fitResources(wanted, fargateLikeCatalogue)).toEqual(fitted);
  expect(fitResources({ cpu: 0.25, memory: GiB }, fargateLikeCatalogue)).toEqual({ cpu: 0.25, memory: GiB });
  expect(fitResources({ cpu: 0.25, memory: 2 * GiB + 1 }, fargateLikeCatalogue)).toEqual({ cpu: 0.5, memory: 3 * GiB });
  expect(explainFit(wanted, fitted, fargateLikeCatalogue)).toMatchObject([
    { message: "Memory raised from 1073741825 to 2Gi: this provider does not offer 1073741825 with 0.25 CPU" },
  ]);
});

describe("a size that limits the concurrency and permits no mounts", () => {
  test("lowers the concurrency, with the reason", () => {
    expect(fitConcurrency(80, 0.5, cloudRunLikeCatalogue)).toBe(1);
    expect(fitConcurrency(1, 0.5, cloudRunLikeCatalogue)).toBe(1);
    expect(fitConcurrency(80, 1, cloudRunLikeCatalogue)).toBe(80);
    expect(explainConcurrency(80, 1, 0.5)).toEqual([
      {
        field: "concurrency",
        from: "80",
        to: "1",
        message: "Concurrency lowered from 80 to 1: the maximum with 0.5 CPU",
      },
    ]);
    expect(explainConcurrency(80, 80, 1)).toEqual([]);
  });

  test("names the smallest CPU with mounts", () => {
    expect(cpuForMounts(0.25, cloudRunLikeCatalogue)).toBe(1);
    expect(cpuForMounts(1, cloudRunLikeCatalogue)).toBeUndefined();
    expect(cpuForMounts(1, fargateLikeCatalogue)).toBeUndefined();
  });
});

describe("explainFit describes what was raised, in the contract's wording", () => {
  const messages = (cpu: number, memory: number, catalogue = cloudRunLikeCatalogue) => {
    const wanted = { cpu, memory };
    const fitted = fitResources(wanted, catalogue);
    return fitted === undefined ? undefined : explainFit(wanted, fitted, catalogue).map((one) => one.message);
  };

  test("nothing raised", () => expect(messages(2, 4 * GiB)).toEqual([]));
  test("CPU for memory", () =>
    expect(messages(1, 8 * GiB)).toEqual(["CPU raised from 1 to 2: 8Gi of memory needs it"]));
  test("a CPU that the provider lacks", () =>
    expect(messages(3, 4 * GiB)).toEqual(["CPU raised from 3 to 4: this provider does not offer 3 CPUs"]));
  test("memory for CPU", () =>
    expect(messages(4, GiB)).toEqual(["Memory raised from 1Gi to 2Gi: the minimum with 4 CPUs is 2Gi"]));
  test("a memory size that the provider lacks", () =>
    expect(messages(8, 17 * GiB, fargateLikeCatalogue)).toEqual([
      "Memory raised from 17Gi to 20Gi: this provider does not offer 17Gi with 8 CPUs",
    ]));
  test("both", () =>
    expect(messages(5, 2 * GiB)).toEqual([
      "CPU raised from 5 to 6: this provider does not offer 5 CPUs",
      "Memory raised from 2Gi to 4Gi: the minimum with 6 CPUs is 4Gi",
    ]));
});
