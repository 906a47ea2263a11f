/** Defines benchmarks and runs their rounds. Subject and peers alternate, so that drift affects them equally. */
import { setTimeout as sleep } from "node:timers/promises";

export interface Contender {
  readonly name: string;
  /** Makes one measurement, and returns it in the unit of the benchmark. */
  measure(): Promise<number>;
}

export interface Setup extends AsyncDisposable {
  readonly subject: Contender;
  /** Compared with the subject, in this order; goals refer to the first one unless they name another. */
  readonly peers: readonly Contender[];
  /** Peers that this machine lacks, and why. */
  readonly missing?: readonly string[];
}

/** A benchmark that this machine cannot run. */
export interface Skipped {
  readonly skipped: string;
}

/** @param why what the machine lacks */
export const skipped = (why: string): Skipped => ({ skipped: why });

export interface Goal {
  /** The peer that the goal refers to; if absent, the goal is about the subject's own value. */
  readonly peer?: string;
  readonly at: "most" | "least";
  /** A ratio to the peer, or a value in the benchmark's unit if there is no peer. */
  readonly bound: number;
  /** Allowed in addition to the ratio, in the benchmark's unit. */
  readonly plus?: number;
}

export interface Bench {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly goals: readonly Goal[];
  prepare(options: { readonly small: boolean }): Promise<Setup | Skipped>;
}

export interface Series {
  readonly name: string;
  readonly values: readonly number[];
}

export interface Outcome {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly subject: Series;
  readonly peers: readonly Series[];
  readonly missing: readonly string[];
  readonly goals: readonly (Goal & { readonly reached: number; readonly met: boolean })[];
}

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
};

const ROUNDS = 7;

const judge = (goal: Goal, subject: Series, peers: readonly Series[]): Outcome["goals"][number][] => {
  const peer = goal.peer === undefined ? undefined : peers.find(({ name }) => name === goal.peer);
  if (goal.peer !== undefined && peer === undefined) return [];
  // The median of the ratios of each round, because both measurements of a round see the same machine state.
  const ratio = (less: number) =>
    median(subject.values.map((value, round) => (value - less) / ((peer?.values[round] as number | undefined) ?? 1)));
  const judged = ratio(goal.plus ?? 0);
  return [{ ...goal, reached: ratio(0), met: goal.at === "most" ? judged <= goal.bound : judged >= goal.bound }];
};

/** Longer than any measurement takes on a slow machine, so that only a hang reaches it. */
const TIMEOUT_MS = 120_000;

/** A rate of 0 shows that every request failed. */
const isResult = (value: number, unit: string): boolean =>
  Number.isFinite(value) && !(value === 0 && unit.endsWith("/s"));

const measured = async ({ name, measure }: Contender, unit: string): Promise<number> => {
  const over = new AbortController();
  const hangs = sleep(TIMEOUT_MS, undefined, { signal: over.signal }).then(() => {
    throw new Error(`'${name}' took longer than ${TIMEOUT_MS / 1000} s`);
  });
  try {
    const value = await Promise.race([measure(), hangs]);
    if (!isResult(value, unit)) throw new Error(`'${name}' measured ${value} ${unit}, which is not a result`);
    return value;
  } finally {
    over.abort();
    hangs.catch(() => undefined);
  }
};

/** Runs a benchmark. `small` measures once, only to check that it works; its figures mean nothing. */
export const runBench = async (bench: Bench, small: boolean): Promise<Outcome | Skipped> => {
  const prepared = await bench.prepare({ small });
  if ("skipped" in prepared) return prepared;
  await using setup = prepared;
  const results = [setup.subject, ...setup.peers];
  const values = results.map((): number[] => []);
  if (!small) for (const contender of results) await measured(contender, bench.unit);
  for (let round = 0; round < (small ? 1 : ROUNDS); round++)
    for (const [index, contender] of results.entries()) values[index]?.push(await measured(contender, bench.unit));
  const [subject, ...peers] = results.map(({ name }, index): Series => ({ name, values: values[index] ?? [] })) as [
    Series,
    ...Series[],
  ];
  return {
    name: bench.name,
    title: bench.title,
    unit: bench.unit,
    subject,
    peers,
    missing: setup.missing ?? [],
    goals: bench.goals.flatMap((goal) => judge(goal, subject, peers)),
  };
};
