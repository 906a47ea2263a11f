/** Results as lines for a terminal and as the page docs/performance.md. */
import { cpus, totalmem } from "node:os";
import { type Goal, median, type Outcome, type Series } from "./bench.ts";

const figure = (value: number): string =>
  value >= 1000 ? Math.round(value).toString() : value >= 10 ? value.toFixed(1) : value.toFixed(2);

/** Half the interquartile range of the rounds, relative to their median. */
const spread = ({ values }: Series): string => {
  const sorted = [...values].sort((a, b) => a - b);
  const quarter = sorted.length >> 2;
  const range = (sorted[sorted.length - 1 - quarter] as number) - (sorted[quarter] as number);
  return `±${Math.round((range / 2 / median(values)) * 100)} %`;
};

const ratio = (subject: Series, peer: Series): string =>
  median(subject.values.map((value, round) => value / (peer.values[round] as number))).toFixed(2);

const formatGoal = ({ peer, at, bound, plus }: Goal, unit: string): string =>
  `at ${at} ${bound}${peer === undefined ? ` ${unit}` : ` × ${peer}`}${plus === undefined ? "" : ` + ${plus} ${unit}`}`;

export const lines = (outcome: Outcome): string[] => {
  const { name, title, unit, subject, peers, goals, missing } = outcome;
  const row = (series: Series, extra = "") =>
    `  ${series.name.padEnd(32)} ${figure(median(series.values)).padStart(8)} ${unit} ${spread(series).padStart(6)}${extra}`;
  return [
    `${name}: ${title}`,
    row(subject),
    ...peers.map((peer) => row(peer, `   ratio ${ratio(subject, peer)}`)),
    ...goals.map(
      (goal) => `  goal ${formatGoal(goal, unit)}: ${figure(goal.reached)}, ${goal.met ? "met" : "not met"}`,
    ),
    ...missing.map((what) => `  ${what}`),
  ];
};

const goalCells = (outcome: Outcome): string =>
  outcome.goals
    .map((goal) => `${formatGoal(goal, outcome.unit)}: ${figure(goal.reached)} ${goal.met ? "✓" : "✗"}`)
    .join("<br>");

const machine = (): string =>
  `${cpus().length} cores (${cpus()[0]?.model.trim() ?? "unknown"}), ${Math.round(totalmem() / 1e9)} GB, Node ${process.versions.node}`;

const NOTES = "## Notes";

const rowOf = (outcome: Outcome): string => {
  const { name, title, unit, subject, peers } = outcome;
  const results = [subject, ...peers]
    .map((series) => `${series.name}: ${figure(median(series.values))} (${spread(series)})`)
    .join("<br>");
  return `| **${name}**<br>${title} | ${results} | ${unit} | ${goalCells(outcome)} |`;
};

/**
 * The page, generated from results. Keeps the notes of the previous page, and the rows of benchmarks without new
 * results.
 */
export const page = (outcomes: readonly Outcome[], before: string): string => {
  const rows = new Map([...before.matchAll(/^\| \*\*(.+?)\*\*.*$/gm)].map(([row, name]) => [name as string, row]));
  for (const outcome of outcomes) rows.set(outcome.name, rowOf(outcome));
  const notes = before.includes(NOTES) ? before.slice(before.indexOf(NOTES)) : NOTES;
  return `# Performance

\`npm run build && npm run bench -- --json FILE\` measured these figures, and \`npm run bench:page -- FILE\` wrote the table.
The machine was a shared virtual machine: ${machine()}. Each benchmark measures its subject
and its peers alternately, for one warm-up round and seven measured rounds. Relative goals apply to the median of the
rounds' ratios. The spread (±) is half the interquartile range. Compare ratios: absolute figures depend on the machine.

| benchmark | medians | unit | goals |
|---|---|---|---|
${[...rows.values()].join("\n")}

${notes.trim()}
`;
};
