/** The result of a statement: its cells, the width of its columns, and the data of a chart. */

export interface ResultColumn {
  readonly name: string;
  readonly type: string;
}

type Row = Readonly<Record<string, unknown>>;

export interface SqlResult {
  readonly columns: readonly ResultColumn[];
  readonly rows: readonly Row[];
}

/** Returns the text of a value: JSON for arrays and objects, `NULL` for null. */
export const cellText = (value: unknown): string => {
  if (value === null || value === undefined) return "NULL";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
};

const numericTypes: ReadonlySet<string> = new Set(["INT64", "FLOAT64", "NUMERIC", "BIGNUMERIC"]);
const timeTypes: ReadonlySet<string> = new Set(["TIMESTAMP", "DATE", "DATETIME"]);

export const isNumeric = ({ type }: ResultColumn): boolean => numericTypes.has(type);
export const isTime = ({ type }: ResultColumn): boolean => timeTypes.has(type);

const SAMPLE_ROWS = 100;
const [MIN_WIDTH, MAX_WIDTH] = [6, 40];

/** Returns the width of a column in characters, from its name, its type and its first rows. */
export const columnWidth = ({ name, type }: ResultColumn, rows: readonly Row[]): number => {
  const lengths = rows.slice(0, SAMPLE_ROWS).map((row) => cellText(row[name]).length);
  return Math.max(MIN_WIDTH, Math.min(MAX_WIDTH, Math.max(name.length + type.length + 1, ...lengths)));
};

/** Returns the default columns of a chart, or undefined if no column has numbers. */
export const chartColumns = (
  columns: readonly ResultColumn[],
): { readonly x: string; readonly y: string } | undefined => {
  const y = columns.find((column) => isNumeric(column) && !isTime(column));
  if (y === undefined) return undefined;
  const x = columns.find(isTime) ?? columns.find((column) => column !== y) ?? y;
  // If the first numeric column is the x axis, draw a different one.
  const other = columns.find((column) => isNumeric(column) && column !== x);
  return { x: x.name, y: (other ?? y).name };
};

export interface Points {
  readonly xs: readonly number[];
  readonly ys: readonly (number | null)[];
  /** The labels of the x axis, by index. Undefined if the axis has times or numbers. */
  readonly labels: readonly string[] | undefined;
}

const numberOf = (value: unknown): number | null => {
  const number = value === null || value === undefined || value === "" ? Number.NaN : Number(value);
  return Number.isFinite(number) ? number : null;
};

/**
 * Returns the points of a chart. If x has times or numbers, the points are in ascending order, times are in seconds,
 * and rows without an x are omitted. For other values of x, each row has its own position.
 */
export const pointsOf = ({ rows }: SqlResult, x: ResultColumn, y: ResultColumn): Points => {
  if (!isTime(x) && !isNumeric(x))
    return {
      xs: rows.map((_, index) => index),
      ys: rows.map((row) => numberOf(row[y.name])),
      labels: rows.map((row) => cellText(row[x.name])),
    };
  const xOf = (value: unknown): number | null => {
    if (!isTime(x)) return numberOf(value);
    // A date without a zone is in UTC.
    const text = String(value);
    const time = Date.parse(/T.*(?:Z|[+-]\d\d:\d\d)$/.test(text) || !text.includes("T") ? text : `${text}Z`);
    return Number.isNaN(time) ? null : time / 1000;
  };
  const points = rows
    .map((row) => ({ at: xOf(row[x.name]), value: numberOf(row[y.name]) }))
    .filter((point): point is { at: number; value: number | null } => point.at !== null)
    .sort((a, b) => a.at - b.at);
  return { xs: points.map(({ at }) => at), ys: points.map(({ value }) => value), labels: undefined };
};
