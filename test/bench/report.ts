/** Outcomes as lines for a terminal and as the page docs/performance.md. */
import { cpus, totalmem } from "node:os";
import { type Goal, median, type Outcome, type Series } from "./bench.ts";

const figure = (value: number): string =>
  value >= 1000 ? Math.round(value).toString() : value >= 10 ? value.toFixed(1) : value.toFixed(2);

/** How far the middle half of the rounds lies apart, relative to their median. */
const spread = ({ values }: Series): string => {
  const sorted = [...values].sort((a, b) => a - b);
  const quarter = sorted.length >> 2;
  const range = (sorted[sorted.length - 1 - quarter] as number) - (sorted[quarter] as number);
  return `±${Math.round((range / 2 / median(values)) * 100)} %`;
};

const ratio = (subject: Series, peer: Series): string =>
  median(subject.values.map((value, round) => value / (peer.values[round] as number))).toFixed(2);

const goalWords = ({ peer, at, bound, plus }: Goal, unit: string): string =>
  `at ${at} ${bound}${peer === undefined ? ` ${unit}` : ` × ${peer}`}${plus === undefined ? "" : ` + ${plus} ${unit}`}`;

export const lines = (outcome: Outcome): string[] => {
  const { name, question, unit, subject, peers, goals, missing } = outcome;
  const row = (series: Series, extra = "") =>
    `  ${series.name.padEnd(32)} ${figure(median(series.values)).padStart(8)} ${unit} ${spread(series).padStart(6)}${extra}`;
  return [
    `${name}: ${question}`,
    row(subject),
    ...peers.map((peer) => row(peer, `   ratio ${ratio(subject, peer)}`)),
    ...goals.map((goal) => `  goal ${goalWords(goal, unit)}: ${figure(goal.reached)}, ${goal.met ? "met" : "NOT met"}`),
    ...missing.map((what) => `  ${what}`),
  ];
};

const goalCells = (outcome: Outcome): string =>
  outcome.goals
    .map((goal) => `${goalWords(goal, outcome.unit)}: ${figure(goal.reached)} ${goal.met ? "✓" : "✗"}`)
    .join("<br>");

const machine = (): string =>
  `${cpus().length} cores (${cpus()[0]?.model.trim() ?? "unknown"}), ${Math.round(totalmem() / 1e9)} GB, Node ${process.versions.node}`;

const NOTES = "## Notes";

const rowOf = (outcome: Outcome): string => {
  const { name, question, unit, subject, peers } = outcome;
  const contenders = [subject, ...peers]
    .map((series) => `${series.name}: ${figure(median(series.values))} (${spread(series)})`)
    .join("<br>");
  return `| **${name}**<br>${question} | ${contenders} | ${unit} | ${goalCells(outcome)} |`;
};

/** The page, made from outcomes; notes, and rows of what was not measured this time, are kept from the page before. */
export const page = (outcomes: readonly Outcome[], before: string): string => {
  const rows = new Map([...before.matchAll(/^\| \*\*(.+?)\*\*.*$/gm)].map(([row, name]) => [name as string, row]));
  for (const outcome of outcomes) rows.set(outcome.name, rowOf(outcome));
  const notes = before.includes(NOTES) ? before.slice(before.indexOf(NOTES)) : NOTES;
  return `# Performance

Measured with \`npm run build && npm run bench -- --json FILE\`, written with \`npm run bench:page -- FILE\`, on a shared virtual
machine: ${machine()}. Subject and peers take turns, seven rounds each after one that does not count; a goal's figure is the
median of the rounds' own ratios, a spread half the range of the middle rounds. Absolute figures are worth little elsewhere; ratios are.

| what | medians | unit | goals |
|---|---|---|---|
${[...rows.values()].join("\n")}

${notes.trim()}
`;
};
