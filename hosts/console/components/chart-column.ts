/** The columns of a chart. */

export interface ChartPart {
  /** The class of the colour, such as `line-0`. */
  readonly tone: string;
  /** The height, from 0 to 1. The parts of a column add up to at most 1. */
  readonly share: number;
}

export interface ChartColumn {
  readonly key: string;
  /** The tooltip of the column. */
  readonly title: string;
  readonly parts: readonly ChartPart[];
  /** True for a column whose value may be too low. */
  readonly incomplete?: boolean;
}
