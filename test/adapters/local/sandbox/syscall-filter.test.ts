/** Runs the system call filter in an interpreter, and compares it with a plain evaluation of the lists. */
import { existsSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { refusedArguments, refusedGroups, uncountedMemory } from "../../../../adapters/local/sandbox/refused-calls.ts";
import { callFilter, filtersCalls } from "../../../../adapters/local/sandbox/syscall-filter.ts";
import { runs } from "../../../support/vitest/runs.ts";

interface Call {
  readonly machine: number;
  readonly number: number;
  /** 64 bits each. */
  readonly args: readonly bigint[];
}

/** The input of the program: struct seccomp_data. */
const dataOf = ({ machine, number, args }: Call): Buffer => {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number, 0);
  data.writeUInt32LE(machine, 4);
  for (const [index, value] of args.entries()) data.writeBigUInt64LE(value, 16 + 8 * index);
  return data;
};

/** Runs a classic BPF program like the kernel: https://docs.kernel.org/networking/filter.html */
const interpret = (program: Buffer, call: Call): number => {
  const data = dataOf(call);
  let accumulator = 0;
  for (let at = 0; at < program.length / 8; at++) {
    const code = program.readUInt16LE(at * 8);
    const value = program.readUInt32LE(at * 8 + 4);
    const jump = (isTrue: boolean) => {
      at += program.readUInt8(at * 8 + (isTrue ? 2 : 3));
    };
    if (code === 0x06) return value;
    if (code === 0x20) accumulator = data.readUInt32LE(value);
    else if (code === 0x15) jump(accumulator === value);
    else if (code === 0x35) jump(accumulator >= value);
    else if (code === 0x45) jump((accumulator & value) !== 0);
    else throw new Error(`unknown instruction ${code} at ${at}`);
  }
  throw new Error("the program ends without an answer");
};

const ALLOWED = 0x7fff0000;
const KILLED = 0x80000000;
const errors = { EPERM: 0x50001, ENOSYS: 0x50026, EAFNOSUPPORT: 0x50061 };
const machines = { x64: 0xc000003e, arm64: 0xc00000b7 };
const columns = { x64: 0, arm64: 1 } as const;
type Machine = keyof typeof machines;

const expected = (machine: Machine, countsMemory: boolean, call: Call): number => {
  if (call.machine !== machines[machine]) return KILLED;
  if (call.number >= 0x40000000) return errors.ENOSYS;
  for (const { calls, answer } of countsMemory ? refusedGroups : [...refusedGroups, uncountedMemory])
    if (Object.values(calls).some((numbers) => numbers[columns[machine]] === call.number)) return errors[answer];
  for (const { number, argument, when, answer } of refusedArguments) {
    if (number[columns[machine]] !== call.number) continue;
    const low = Number((call.args[argument] as bigint) & 0xffffffffn);
    const isRefused =
      "hasBit" in when ? (low & when.hasBit) !== 0 : "is" in when ? when.is.includes(low) : !when.isNot.includes(low);
    return isRefused ? errors[answer] : ALLOWED;
  }
  return ALLOWED;
};

const call = (machine: Machine): fc.Arbitrary<Call> =>
  fc.record({
    machine: fc.oneof({ weight: 9, arbitrary: fc.constant(machines[machine]) }, fc.nat({ max: 0xffffffff })),
    number: fc.oneof(
      { weight: 4, arbitrary: fc.nat({ max: 480 }) },
      { weight: 2, arbitrary: fc.constantFrom(...refusedArguments.map(({ number }) => number[columns[machine]])) },
      { weight: 1, arbitrary: fc.nat({ max: 0xffffffff }) },
    ),
    args: fc.array(
      fc.oneof(
        fc.bigInt({ min: 0n, max: 0xffffffffffffffffn }),
        fc.nat({ max: 50 }).map(BigInt),
        fc.nat({ max: 31 }).map((bit) => 1n << BigInt(bit)),
        // Only the lower half decides: a program may leave anything in the upper half.
        fc
          .constantFrom(0x5412n, 0x541cn, 0x5423n)
          .chain((low) => fc.constantFrom(low, low | (1n << 32n), low | (1n << 63n))),
      ),
      { minLength: 6, maxLength: 6 },
    ),
  });

describe.each(["x64", "arm64"] as const)("on %s", (machine) => {
  test.each([true, false])("answers every call as listed (memory is counted: %s)", (countsMemory) => {
    const program = callFilter(machine, countsMemory);
    fc.assert(
      fc.property(call(machine), (one) => {
        expect(interpret(program, one)).toBe(expected(machine, countsMemory, one));
      }),
      runs(5000),
    );
    const args = [0n, 0n, 0n, 0n, 0n, 0n];
    for (let number = 0; number < 600; number++) {
      const one = { machine: machines[machine], number, args };
      expect(interpret(program, one), `call ${number}`).toBe(expected(machine, countsMemory, one));
    }
  });

  test("kills programs that make calls of a different architecture, and refuses x32 numbers", () => {
    const program = callFilter(machine, true);
    const args = [0n, 0n, 0n, 0n, 0n, 0n];
    // 32-bit x86, by `int 0x80`.
    expect(interpret(program, { machine: 0x40000003, number: 20, args })).toBe(KILLED);
    expect(interpret(program, { machine: machines[machine], number: 0x40000000 + 272, args })).toBe(errors.ENOSYS);
  });
});

test("allows every call on a machine with unknown call numbers, and reports that", () => {
  expect(filtersCalls("x64")).toBe(true);
  expect(filtersCalls("riscv64")).toBe(false);
  const args = [0n, 0n, 0n, 0n, 0n, 0n];
  fc.assert(
    fc.property(fc.nat({ max: 500 }), (number) => {
      expect(interpret(callFilter("riscv64", true), { machine: 0xc00000f3, number, args })).toBe(ALLOWED);
    }),
    runs(100),
  );
});

/** The kernel's own headers on Debian. */
const headers = [
  ["x64", "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"],
  ["arm64", "/usr/include/asm-generic/unistd.h"],
] as const;

test.each(headers)("uses the numbers of the kernel's headers (%s)", (machine, header) => {
  if (!existsSync(header)) return expect(filtersCalls(machine)).toBe(true);
  const known = new Map(
    [...readFileSync(header, "utf8").matchAll(/^#define __NR(?:3264)?_(\w+)\s+(\d+)$/gm)].map(([, name, number]) => [
      name as string,
      Number(number),
    ]),
  );
  const listed = [
    ...[...refusedGroups, uncountedMemory].flatMap(({ calls }) => Object.entries(calls)),
    ...refusedArguments.map(({ call, number }) => [call, number] as const),
  ];
  for (const [name, numbers] of listed) {
    const number = numbers[columns[machine]];
    // A header may be older than the call.
    if (known.has(name) || (number !== undefined && number < 450))
      expect([name, known.get(name)]).toEqual([name, number]);
  }
});
