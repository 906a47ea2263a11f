/** What a benchmark is, and how its rounds are run: subject and peers in turn, so that drift meets all alike. */
import { setTimeout as sleep } from "node:timers/promises";

export interface Contender {
  readonly name: string;
  /** One measurement. */
  measure(): Promise<number>;
}

export interface Setup extends AsyncDisposable {
  readonly subject: Contender;
  /** Compared with the subject, in this order; the first has the goal unless a goal names another. */
  readonly peers: readonly Contender[];
  /** Peers that this machine lacks, and why. */
  readonly missing?: readonly string[];
}

/** Of a benchmark that this machine cannot run. */
export const notHere = (why: string): Setup => ({
  subject: { name: why, measure: async () => Number.NaN },
  peers: [],
  missing: [why],
  [Symbol.asyncDispose]: async () => undefined,
});

export interface Goal {
  /** The peer that it is about; absent: the subject's own value. */
  readonly peer?: string;
  readonly at: "most" | "least";
  /** A ratio to the peer, or a value in the benchmark's unit. */
  readonly bound: number;
  /** Allowed beside the ratio, in the benchmark's unit. */
  readonly plus?: number;
}

export interface Bench {
  readonly name: string;
  readonly question: string;
  readonly unit: string;
  readonly goals: readonly Goal[];
  prepare(options: { readonly small: boolean }): Promise<Setup>;
}

export interface Series {
  readonly name: string;
  readonly values: readonly number[];
}

export interface Outcome {
  readonly name: string;
  readonly question: string;
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
const SMALL_ROUNDS = 1;

const judge = (goal: Goal, subject: Series, peers: readonly Series[]): Outcome["goals"][number][] => {
  const peer = goal.peer === undefined ? undefined : peers.find(({ name }) => name === goal.peer);
  if (goal.peer !== undefined && peer === undefined) return [];
  // The median of the rounds' own ratios: a round's two measurements met the same machine.
  const ratio = (less: number) =>
    median(subject.values.map((value, round) => (value - less) / ((peer?.values[round] as number | undefined) ?? 1)));
  const judged = ratio(goal.plus ?? 0);
  return [{ ...goal, reached: ratio(0), met: goal.at === "most" ? judged <= goal.bound : judged >= goal.bound }];
};

/** No measurement takes longer, on the busiest machine: it ends what hangs, and says what that was. */
const TIMEOUT_MS = 120_000;

const measured = async ({ name, measure }: Contender): Promise<number> => {
  const over = new AbortController();
  const hangs = sleep(TIMEOUT_MS, undefined, { signal: over.signal }).then(() => {
    throw new Error(`'${name}' was not measured within ${TIMEOUT_MS / 1000} s`);
  });
  try {
    return await Promise.race([measure(), hangs]);
  } finally {
    over.abort();
    hangs.catch(() => undefined);
  }
};

/** Runs a benchmark; `small` is to see that it works, and says nothing about speed. */
export const runBench = async (bench: Bench, small: boolean): Promise<Outcome> => {
  await using setup = await bench.prepare({ small });
  const contenders = [setup.subject, ...setup.peers];
  const values = contenders.map((): number[] => []);
  for (const contender of contenders) await measured(contender);
  for (let round = 0; round < (small ? SMALL_ROUNDS : ROUNDS); round++)
    for (const [index, contender] of contenders.entries()) values[index]?.push(await measured(contender));
  const [subject, ...peers] = contenders.map(({ name }, index): Series => ({ name, values: values[index] ?? [] })) as [
    Series,
    ...Series[],
  ];
  return {
    name: bench.name,
    question: bench.question,
    unit: bench.unit,
    subject,
    peers,
    missing: setup.missing ?? [],
    goals: bench.goals.flatMap((goal) => judge(goal, subject, peers)),
  };
};
