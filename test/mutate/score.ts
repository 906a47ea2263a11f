/** Summarizes a run of mutants by file. */

export interface Mutant {
  readonly fileName: string;
  readonly status: string;
  readonly mutatorName: string;
  readonly replacement?: string | undefined;
  readonly location: { readonly start: { readonly line: number; readonly column: number } };
}

export interface FileScore {
  readonly file: string;
  readonly killed: number;
  readonly timedOut: number;
  readonly survived: number;
  readonly uncovered: number;
  /** In percent; 100 for a file with nothing to mutate. */
  readonly score: number;
}

const scoreOf = (file: string, mutants: readonly Mutant[]): FileScore => {
  const count = (status: string): number => mutants.filter((mutant) => mutant.status === status).length;
  const [killed, timedOut, survived, uncovered] = [
    count("Killed"),
    count("Timeout"),
    count("Survived"),
    count("NoCoverage"),
  ];
  const detected = killed + timedOut;
  const all = detected + survived + uncovered;
  return { file, killed, timedOut, survived, uncovered, score: all === 0 ? 100 : (100 * detected) / all };
};

/** A row for each file, the lowest score first. Mutants that cannot be loaded do not count. */
export const fileScores = (mutants: readonly Mutant[]): FileScore[] =>
  [...Map.groupBy(mutants, ({ fileName }) => fileName)]
    .map(([file, its]) => scoreOf(file, its))
    .sort((a, b) => a.score - b.score || (a.file < b.file ? -1 : 1));

/** The row of all files together. */
export const totalScore = (mutants: readonly Mutant[]): FileScore => scoreOf("all", mutants);

/** The surviving mutants, in the order of the files' lines. */
export const survivingMutants = (mutants: readonly Mutant[]): Mutant[] =>
  mutants
    .filter(({ status }) => status === "Survived" || status === "NoCoverage")
    .toSorted((a, b) => a.fileName.localeCompare(b.fileName, "en") || a.location.start.line - b.location.start.line);
