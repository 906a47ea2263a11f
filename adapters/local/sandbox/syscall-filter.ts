/**
 * Compiles the blocked calls into a seccomp filter: a classic BPF program that the kernel runs before every system
 * call. https://docs.kernel.org/userspace-api/seccomp_filter.html
 */
import { refusedArguments, refusedGroups, uncountedMemory } from "./refused-calls.ts";

/**
 * For each machine type: its AUDIT_ARCH_* constant (linux/audit.h), and the column of its call numbers in
 * refused-calls.ts.
 */
const machines: Readonly<Record<string, { readonly audit: number; readonly column: 0 | 1 }>> = {
  x64: { audit: 0xc000_003e, column: 0 },
  arm64: { audit: 0xc000_00b7, column: 1 },
};

/** Instruction codes (linux/bpf_common.h). */
const LOAD = 0x20;
const EQUAL = 0x15;
const AT_LEAST = 0x35;
const HAS_BIT = 0x45;
const RETURN = 0x06;

/** Offsets in struct seccomp_data: the call's number, the machine, and the lower half of an argument. */
const NUMBER = 0;
const MACHINE = 4;
const argumentAt = (index: number): number => 16 + 8 * index;

const ALLOW = 0x7fff_0000;
const KILL_PROCESS = 0x8000_0000;
const errnos = { EPERM: 1, ENOSYS: 38, EAFNOSUPPORT: 97 };
const answerOf = (name: keyof typeof errnos): number => 0x0005_0000 | errnos[name];

/** Call numbers from here on belong to the x32 ABI of x86-64. As an unsigned number, -1 is one of them. */
const X32 = 0x4000_0000;

interface Instruction {
  readonly code: number;
  /** The numbers of instructions to skip if the comparison is true, and if it is false. */
  readonly jump?: readonly [number, number];
  readonly value: number;
}

const load = (offset: number): Instruction => ({ code: LOAD, value: offset });
const give = (value: number): Instruction => ({ code: RETURN, value });

/** Runs the instructions only if the comparison with the last loaded value is true. */
const when = (code: number, value: number, then: readonly Instruction[]): Instruction[] => [
  { code, jump: [0, then.length], value },
  ...then,
];

type Condition = (typeof refusedArguments)[number]["when"];

/** Returns instructions that allow or block the call depending on the last loaded value. */
const decide = (condition: Condition, answer: number): Instruction[] => {
  if ("hasBit" in condition) return [...when(HAS_BIT, condition.hasBit, [give(answer)]), give(ALLOW)];
  const [listed, other, values] = "is" in condition ? [answer, ALLOW, condition.is] : [ALLOW, answer, condition.isNot];
  return [...values.flatMap((value) => when(EQUAL, value, [give(listed)])), give(other)];
};

const encode = (program: readonly Instruction[]): Buffer => {
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, { code, jump = [0, 0], value }] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(jump[0], index * 8 + 2);
    bytes.writeUInt8(jump[1], index * 8 + 3);
    bytes.writeUInt32LE(value >>> 0, index * 8 + 4);
  }
  return bytes;
};

/** Whether the call numbers of the machine are known. */
export const filtersCalls = (machine: string): boolean => machine in machines;

/**
 * Returns the filter. On a machine with unknown call numbers, the filter allows every call.
 * @param machine a value of `process.arch`
 * @param countsMemory whether control groups count the memory that belongs to no process
 */
export const callFilter = (machine: string, countsMemory: boolean): Buffer => {
  const known = machines[machine];
  if (known === undefined) return encode([give(ALLOW)]);
  const { audit, column } = known;
  const groups = countsMemory ? refusedGroups : [...refusedGroups, uncountedMemory];
  const calls = groups.flatMap(({ answer, calls }) =>
    Object.values(calls).flatMap((numbers) => {
      const number = numbers[column];
      return number === undefined ? [] : when(EQUAL, number, [give(answerOf(answer))]);
    }),
  );
  const byArgument = refusedArguments.flatMap(({ number, argument, when: condition, answer }) =>
    when(EQUAL, number[column], [load(argumentAt(argument)), ...decide(condition, answerOf(answer))]),
  );
  return encode([
    load(MACHINE),
    { code: EQUAL, jump: [1, 0], value: audit },
    give(KILL_PROCESS),
    load(NUMBER),
    ...when(AT_LEAST, X32, [give(answerOf("ENOSYS"))]),
    ...calls,
    ...byArgument,
    give(ALLOW),
  ]);
};
