/**
 * Lines of a Dockerfile with which a build would use rights of the engine that its account does not have, and the base
 * images of the others. Pure.
 *
 * - The engine knows every account's images by id, and the classic builder accepts the beginning of an id as a name.
 * - The engine downloads what ADD names from the machine's own network, where loopback services and metadata are.
 * - A `# syntax` line names a program that runs in the builder, with the caches of all accounts.
 * - The triggers of a base image (ONBUILD) are lines of whoever made it. Only an image that has a known name can be checked.
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
const UNKNOWN =
  "names an image by a variable whose value Portside does not know. Write the name out, or use ARG NAME=VALUE before the first FROM";
const NO_NAME =
  "names an image in a form that Portside does not know. Name images as NAME:TAG, such as node:24-bookworm-slim";
const OTHER_PLATFORM = "builds for another platform than the engine's. Remove --platform";

/** What a builder is, as far as lines depend on it. */
export interface Builder {
  /** Of the engine, such as linux/amd64. */
  readonly platform: string;
  /** Gives values to the variables of platforms: https://docs.docker.com/reference/dockerfile/#automatic-platform-args-in-the-global-scope */
  readonly knowsPlatforms: boolean;
}

/** An image that the engine fetches for a build. */
export interface BaseImage {
  /** From 1. */
  readonly line: number;
  readonly text: string;
  readonly name: string;
}

/** What a Dockerfile asks the engine for. */
export type Judged =
  | { readonly refused: RefusedLine }
  | { readonly images: readonly BaseImage[]; readonly stages: Stages };

/** Lines can name them in the place of images. */
export interface Stages {
  readonly names: ReadonlySet<string>;
  readonly count: number;
}

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

/** Values of variables in FROM, by their names. */
type Values = ReadonlyMap<string, string>;

const KNOWN_VARIABLE = /\$(?:(\w+)|\{(\w+)(?:(:?[-+])([^${}]*))?\})/g;

/** The word with the values of its variables; undefined if it has one of an unknown form. */
const expanded = (word: string, values: Values): string | undefined => {
  if (word.replace(KNOWN_VARIABLE, "").includes("$")) return undefined;
  return word.replace(KNOWN_VARIABLE, (_, plain?: string, braced?: string, kind = "", other = "") => {
    const value = values.get(plain ?? braced ?? "");
    const isGiven = kind.startsWith(":") ? value !== undefined && value !== "" : value !== undefined;
    if (kind.endsWith("+")) return isGiven ? other : "";
    return kind.endsWith("-") && !isGiven ? other : (value ?? "");
  });
};

const PLATFORM_VARIABLE = /^(?:TARGET|BUILD)(?:PLATFORM|OS|ARCH|VARIANT)$/;

const platformValues = ({ platform, knowsPlatforms }: Builder): [string, string][] => {
  const [os = "", arch = ""] = platform.split("/");
  return ["TARGET", "BUILD"].flatMap((kind): [string, string][] =>
    knowsPlatforms
      ? [
          [`${kind}PLATFORM`, platform],
          [`${kind}OS`, os],
          [`${kind}ARCH`, arch],
        ]
      : [],
  );
};

/** FROM has the variables of lines before the first FROM. A value of an unknown form keeps its `$`. */
const valuesIn = (instructions: readonly Instruction[], builder: Builder): Values => {
  const values = new Map(platformValues(builder));
  for (const { words } of instructions) {
    const name = words[0]?.toUpperCase();
    if (name === "FROM") break;
    for (const word of name === "ARG" ? words.slice(1) : []) {
      const [variable = "", ...value] = word.split("=");
      if (value.length === 0) continue;
      const text = unquoted(value.join("="));
      // Builders differ in whose value they take.
      values.set(variable, PLATFORM_VARIABLE.test(variable) ? "$" : (expanded(text, values) ?? "$"));
    }
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

/** What is known of a reading before an instruction. */
interface Before {
  readonly values: Values;
  readonly builder: Builder;
  readonly stages: Set<string>;
  readonly stageCount: number;
}

/** An image that an instruction names, or why it is refused; undefined if it names none. */
type Named = { readonly why: string } | { readonly image: string } | undefined;

/** https://pkg.go.dev/github.com/distribution/reference; no place of files, such as Podman's `oci-archive:/PATH`. */
const NAME =
  /^(?:(?:[a-z0-9.-]+|\[[0-9a-f:]+\])(?::\d+)?\/)?(?:[\w.-]+\/)*[\w.-]+(?::[\w.-]+)?(?:@sha256:[0-9a-f]+)?$/i;
const TRANSPORT = /^(?:containers-storage|dir|oci|sif|tarball|[a-z]+-(?:archive|daemon)):/i;
const MOST_LETTERS = 500;

const isName = (image: string): boolean => image.length <= MOST_LETTERS && NAME.test(image) && !TRANSPORT.test(image);

const named = (image: string, { stages, stageCount }: Before): Named => {
  if (stages.has(image.toLowerCase()) || (/^\d+$/.test(image) && Number(image) < stageCount)) return undefined;
  if (mayBeId(image)) return { why: BY_ID };
  if (image.includes("$")) return { why: UNKNOWN };
  return isName(image) ? { image } : { why: NO_NAME };
};

const STAGE_NAME = /^[a-z][a-z0-9._-]*$/i;

const namedByFrom = (given: readonly string[], before: Before): Named => {
  const { values, builder, stages } = before;
  const at = firstArgument(given);
  for (const platform of valuesOf(given.slice(0, at), "--platform="))
    if (!["", builder.platform].includes(expanded(platform, values) ?? "$")) return { why: OTHER_PLATFORM };
  const image = expanded(given[at] ?? "", values);
  const [as, stage] = given.slice(at + 1);
  const found: Named =
    image === undefined
      ? { why: mayBeId(given[at] ?? "") ? BY_ID : UNKNOWN }
      : ["scratch", ""].includes(image) || stages.has(image.toLowerCase())
        ? undefined
        : named(image, { ...before, stageCount: 0 });
  if (as?.toUpperCase() === "AS" && STAGE_NAME.test(stage ?? "")) stages.add((stage ?? "").toLowerCase());
  return found;
};

const namedBy = ({ words }: Instruction, before: Before): Named[] => {
  const [name = "", ...rest] = words;
  const given = rest.map(unquoted);
  switch (name.toUpperCase()) {
    case "FROM":
      return [namedByFrom(given, before)];
    case "COPY":
      return valuesOf(given, "--from=").map((image) => named(image, before));
    case "RUN": {
      const mounts = valuesOf(given.slice(0, firstArgument(given)), "--mount=").flatMap((mount) => mount.split(","));
      const images = mounts.filter((one) => /^from=/i.test(one)).map((one) => one.slice("from=".length));
      return images.map((image) => named(image, before));
    }
    case "ADD":
      return [sourcesOf(rest).some(mayBeRemote) ? { why: REMOTE } : undefined];
    default:
      return [];
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

/** Whether the file may set the escape character; builders differ in how they read directives. */
const mayEscape = (lines: readonly string[]): boolean => {
  const end = lines.findIndex((line) => line.trim() !== "" && !isComment(line.replace(/^\uFEFF/, "")));
  return lines.slice(0, end === -1 ? undefined : end).some((line) => /#\s*escape\s*=/i.test(line));
};

/** What one reading of the text names, line by line, and its stages. */
const readingOf = (lines: readonly string[], mark: string | undefined, builder: Builder, around: Stages) => {
  const instructions = instructionsIn(lines, mark);
  const isFrom = ({ words }: Instruction) => words[0]?.toUpperCase() === "FROM";
  const stageCount = instructions.filter(isFrom).length + around.count;
  const stages = new Set(around.names);
  const before: Before = { values: valuesIn(instructions, builder), builder, stages, stageCount };
  const found = instructions.flatMap((instruction) =>
    namedBy(instruction, before).flatMap((one) => (one === undefined ? [] : { line: instruction.line, ...one })),
  );
  return { found, stages: { names: stages, count: stageCount } };
};

/** Reasons that hold for every reading; the others hold for those that a builder may have. */
const ALWAYS = [BY_ID, REMOTE];

/**
 * The first line that is refused, or the images of the Dockerfile if there is none.
 * @param around the stages of the Dockerfile that the text is a trigger for
 */
export const judgeDockerfile = (
  dockerfile: string,
  builder: Builder,
  around: Stages = { names: new Set(), count: 0 },
): Judged => {
  const lines = dockerfile.split(/\r?\n/);
  const at = (line: number) => ({ line, text: (lines[line - 1] ?? "").trim() });
  const syntax = foreignSyntaxIn(lines);
  if (syntax > 0) return { refused: { ...at(syntax), why: FOREIGN_SYNTAX } };
  // The file is read with each escape character. Only readings that a builder may have tell its images.
  const readings = ["\\", ...(mayEscape(lines) ? ["`"] : [])].map((mark) => readingOf(lines, mark, builder, around));
  const others = ["`", undefined].map((mark) => readingOf(lines, mark, builder, around));
  for (const one of readings.flatMap(({ found }) => found))
    if ("why" in one) return { refused: { ...at(one.line), why: one.why } };
  for (const one of others.flatMap(({ found }) => found))
    if ("why" in one && ALWAYS.includes(one.why)) return { refused: { ...at(one.line), why: one.why } };
  const images = readings.flatMap(({ found }) =>
    found.flatMap((one) => ("image" in one ? { ...at(one.line), name: one.image } : [])),
  );
  const names = new Set(readings.flatMap(({ stages }) => [...stages.names]));
  const count = Math.max(...readings.map(({ stages }) => stages.count));
  return {
    images: [...new Map(images.toReversed().map((one) => [one.name, one])).values()].reverse(),
    stages: { names, count },
  };
};
