/**
 * Lines of a Dockerfile with which a build would use rights of the engine that its account does not have. Pure.
 *
 * - The engine knows every account's images by id, and the classic builder accepts the beginning of an id as a name.
 * - The engine downloads what ADD names from the machine's own network, where loopback services and metadata are.
 * - A `# syntax` line names a program that runs in the builder, with the caches of all accounts.
 *
 * In doubt a line is refused. https://docs.docker.com/reference/dockerfile/
 */

export interface RefusedLine {
  /** From 1. */
  readonly line: number;
  readonly text: string;
  /** What is wrong with it, and what to write instead. */
  readonly why: string;
}

const BY_ID =
  "may name an image by its id, which could be another account's. Name images as NAME:TAG, such as node:24-bookworm-slim";
const REMOTE =
  "lets the engine download from the machine's own network. Add the file to the source, or download it with RUN";
const FOREIGN_SYNTAX = "names a build program of its own. Use docker/dockerfile, or remove the line";

interface Instruction {
  readonly line: number;
  readonly words: readonly string[];
}

const isComment = (line: string): boolean => line.trimStart().startsWith("#");

/** @param mark the character that continues an instruction on the next line; undefined if none does */
const instructionsIn = (lines: readonly string[], mark: string | undefined): Instruction[] => {
  const found: Instruction[] = [];
  let begun: { line: number; text: string } | undefined;
  for (const [index, line] of lines.entries()) {
    if (isComment(line) || (begun !== undefined && line.trim() === "")) continue;
    const end = line.trimEnd();
    const goesOn = mark !== undefined && end.endsWith(mark);
    begun = { line: begun?.line ?? index + 1, text: (begun?.text ?? "") + (goesOn ? end.slice(0, -1) : line) };
    if (goesOn && index < lines.length - 1) continue;
    const words = begun.text.trim().split(/\s+/);
    while (words[0]?.toUpperCase() === "ONBUILD") words.shift();
    found.push({ line: begun.line, words });
    begun = undefined;
  }
  return found;
};

/** The builder takes these away. */
const unquoted = (word: string): string => word.replace(/["'\\`]/g, "");

const ID = /^(?:sha256:)?[0-9a-f]+$/i;
/** Every letter of an id. */
const LETTERS_OF_IDS = /^[0-9a-fsh:]*$/i;
const VARIABLE = /\$(?:\{[^}]*\}?|\w+)?/g;

const mayBeId = (name: string): boolean =>
  name.includes("$") ? LETTERS_OF_IDS.test(name.replace(VARIABLE, "")) : ID.test(name);

/** The values that the file gives to variables of FROM, by their names. */
const argumentsIn = (instructions: readonly Instruction[]): Map<string, Set<string>> => {
  const values = new Map<string, Set<string>>();
  for (const { words } of instructions)
    for (const word of words[0]?.toUpperCase() === "ARG" ? words.slice(1) : []) {
      const [name = "", ...value] = word.split("=");
      values.set(name, (values.get(name) ?? new Set()).add(unquoted(value.join("="))));
    }
  return values;
};

const REMOTE_SOURCE = /^(?:[a-z][a-z0-9+.-]*:\/\/|[^/]+@[^/]+:)/i;
const REMOTE_BEGINNINGS = ["http://", "https://", "git://", "git@", "ssh://"];

const mayBeRemote = (source: string): boolean => {
  if (REMOTE_SOURCE.test(source)) return true;
  const at = source.indexOf("$");
  return at >= 0 && REMOTE_BEGINNINGS.some((one) => one.startsWith(source.slice(0, at).toLowerCase()));
};

/** The sources of ADD, in either of its forms. */
const sourcesOf = (words: readonly string[]): string[] => {
  const plain = words.map(unquoted);
  const text = words.filter((word) => !word.startsWith("--")).join(" ");
  if (!text.startsWith("[")) return plain;
  try {
    return [...plain, ...(JSON.parse(text) as unknown[]).map(String)];
  } catch {
    return plain;
  }
};

/** What follows the option in the words that begin with it. */
const valuesOf = (words: readonly string[], option: string): string[] =>
  words.filter((word) => word.startsWith(option)).map((word) => word.slice(option.length));

const firstArgument = (words: readonly string[]): number => {
  const at = words.findIndex((word) => !word.startsWith("--"));
  return at === -1 ? words.length : at;
};

const ARGUMENT = /^\$(?:(\w+)|\{(\w+)\})$/;

const whyRefused = ({ words }: Instruction, values: ReadonlyMap<string, ReadonlySet<string>>, stages: number) => {
  const [name = "", ...rest] = words;
  const given = rest.map(unquoted);
  const isStage = (image: string) => /^\d+$/.test(image) && Number(image) < stages;
  switch (name.toUpperCase()) {
    case "FROM": {
      const image = given.find((word) => !word.startsWith("--")) ?? "";
      const [, plain, braced] = ARGUMENT.exec(image) ?? [];
      const known = [...(values.get(plain ?? braced ?? "") ?? [])];
      const isKnown =
        known.length > 0 && known.every((value) => value !== "" && !mayBeId(value) && !value.includes("$"));
      return mayBeId(image) && !isKnown ? BY_ID : undefined;
    }
    case "COPY":
      return valuesOf(given, "--from=").some((image) => mayBeId(image) && !isStage(image)) ? BY_ID : undefined;
    case "RUN": {
      const mounts = valuesOf(given.slice(0, firstArgument(given)), "--mount=").flatMap((mount) => mount.split(","));
      return valuesOf(mounts, "from=").some((image) => mayBeId(image) && !isStage(image)) ? BY_ID : undefined;
    }
    case "ADD":
      return sourcesOf(rest).some(mayBeRemote) ? REMOTE : undefined;
    default:
      return undefined;
  }
};

const SYNTAX = /^(?:#|\/\/)\s*syntax\s*=\s*(\S*)/i;
const OWN_SYNTAX = /^(?:docker\.io\/)?docker\/dockerfile(?:-upstream)?(?:[:@]|$)/;

/** The number of the line with a `# syntax` directive for a program other than docker/dockerfile; 0 if there is none. */
const foreignSyntaxIn = (lines: readonly string[]): number => {
  for (const [index, line] of lines.entries()) {
    const text = line.replace(/^\uFEFF/, "").trim();
    const [, program] = SYNTAX.exec(text) ?? [];
    if (program !== undefined && !OWN_SYNTAX.test(program)) return index + 1;
    // Newer builders read a file that is JSON for its "syntax", too.
    if (text.startsWith("{")) return index + 1;
    if (text !== "" && !text.startsWith("#") && !text.startsWith("//")) return 0;
  }
  return 0;
};

/** The first line that is refused. */
export const refusedLine = (dockerfile: string): RefusedLine | undefined => {
  const lines = dockerfile.split(/\r?\n/);
  const at = (line: number, why: string): RefusedLine => ({ line, text: (lines[line - 1] ?? "").trim(), why });
  const syntax = foreignSyntaxIn(lines);
  if (syntax > 0) return at(syntax, FOREIGN_SYNTAX);
  // A directive sets the escape character. The file is read with each, because builders differ in how they read directives.
  const readings = ["\\", "`", undefined].map((mark) => instructionsIn(lines, mark));
  const values = argumentsIn(readings.flat());
  for (const instructions of readings) {
    const stages = instructions.filter(({ words }) => words[0]?.toUpperCase() === "FROM").length;
    for (const instruction of instructions) {
      const why = whyRefused(instruction, values, stages);
      if (why !== undefined) return at(instruction.line, why);
    }
  }
  return undefined;
};
