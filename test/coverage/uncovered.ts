/** Compares the uncovered branches of a coverage report with the table in docs/contributing/testing.md. */

interface Position {
  readonly line?: number;
  readonly column?: number;
}

interface Span {
  readonly start: Position;
}

/** A part of Istanbul's format: https://github.com/istanbuljs/istanbuljs/blob/main/docs/raw-output.md */
export interface FileCoverage {
  readonly path: string;
  /** How often each branch was taken, by the location of its condition. */
  readonly b: Readonly<Record<string, readonly number[]>>;
  readonly branchMap: Readonly<Record<string, { readonly loc: Span; readonly locations: readonly Span[] }>>;
}

export interface Branch {
  /** From the root of the repository. */
  readonly file: string;
  readonly line: number;
  /** The line's code from the branch on; for an implicit `else`, from its `if` on. */
  readonly code: string;
}

/** The uncovered branches of a file. `text` is its source. */
export const uncoveredBranches = ({ b, branchMap }: FileCoverage, file: string, text: string): Branch[] => {
  const lines = text.split("\n");
  return Object.entries(b).flatMap(([id, taken]) =>
    taken.flatMap((times, index) => {
      const parts = branchMap[id];
      if (times > 0 || parts === undefined) return [];
      const own = parts.locations[index]?.start;
      const { line = 1, column = 0 } = own?.line === undefined ? parts.loc.start : own;
      return [{ file, line, code: (lines[line - 1] ?? "").slice(column).trim() }];
    }),
  );
};

export interface NamedBranch {
  readonly file: string;
  /** The first characters of the branch's code. */
  readonly code: string;
  readonly why: string;
}

/** The rows of the page's table of uncovered branches. */
export const namedBranches = (page: string): NamedBranch[] =>
  [...page.matchAll(/^\| `(core\/[^`]+)` +\| `([^`]+)` +\| ([^|]+?) +\|$/gm)].map(
    ([, file, code, why]) => ({ file, code, why }) as NamedBranch,
  );

const isNamed = ({ file, code }: Branch, row: NamedBranch): boolean => row.file === file && code.startsWith(row.code);

/** Every difference between a report and the page, as a message. */
export const differences = (branches: readonly Branch[], rows: readonly NamedBranch[]): string[] => [
  ...branches
    .filter((branch) => !rows.some((row) => isNamed(branch, row)))
    .map(({ file, line, code }) => `${file}:${line}: no test takes this branch, and no reason is named: ${code}`),
  ...rows
    .filter((row) => !branches.some((branch) => isNamed(branch, row)))
    .map(({ file, code }) => `${file}: a test takes this branch, so remove its row: ${code}`),
];
