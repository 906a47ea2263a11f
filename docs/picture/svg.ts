/** Draws rows of a terminal as a self-contained SVG. The rows appear at their recorded times. */
import type { Row, Run } from "./recording.ts";

const CELL = 8.4;
const LINE = 20;
const MARGIN = 20;
const BAR = 36;
const FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";

/** The sixteen colours, readable on the dark background. */
const palette = [
  ...["#6e7681", "#ff7b72", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#d6deeb"],
  ...["#8b949e", "#ffa198", "#7ee787", "#f2cc60", "#a5d6ff", "#e2c5ff", "#88e5ec", "#ffffff"],
];

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const rounded = (value: number): string => String(Math.round(value * 100) / 100);

const textOf = ({ column, text, bold, dim, colour }: Run): string => {
  const start = text.length - text.trimStart().length;
  const shown = text.trimStart();
  const attributes = [
    `x="${rounded(MARGIN + (column + start) * CELL)}"`,
    // Aligns columns with any font.
    `textLength="${rounded([...shown].length * CELL)}"`,
    ...(colour === undefined ? [] : [`fill="${palette[colour % palette.length]}"`]),
    ...(bold ? ['font-weight="bold"'] : []),
    ...(dim ? ['opacity="0.65"'] : []),
  ];
  return `<tspan ${attributes.join(" ")}>${escaped(shown)}</tspan>`;
};

const rowOf = ({ runs, at }: Row, index: number): string =>
  `<text y="${BAR + MARGIN + index * LINE}" style="animation-delay:${rounded(at)}s">${runs.map(textOf).join("")}</text>`;

export const svgOf = (rows: readonly Row[], columns: number, title: string): string => {
  const width = Math.ceil(2 * MARGIN + columns * CELL);
  const height = BAR + MARGIN + rows.length * LINE;
  const dots = ["#ff5f56", "#ffbd2e", "#27c93f"].map(
    (colour, index) => `<circle cx="${22 + index * 20}" cy="18" r="6" fill="${colour}"/>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" xml:space="preserve" role="img" aria-label="${escaped(title)}">
<!-- Made by \`npm run docs:picture\` from what the commands print. -->
<style>
text { white-space: pre; animation: appear 0.01s both; }
@keyframes appear { from { visibility: hidden; } }
@media (prefers-reduced-motion: reduce) { text { animation: none; } }
</style>
<rect width="${width}" height="${height}" rx="10" fill="#0d1117"/>
${dots.join("")}
<g font-family="${FONTS}" font-size="14" fill="#d6deeb">
${rows.map(rowOf).join("\n")}
</g>
</svg>
`;
};
