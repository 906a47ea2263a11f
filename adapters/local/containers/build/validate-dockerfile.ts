/**
 * Rejects Dockerfile lines through which a build could use the container engine's access to other accounts, the network
 * or the machine. Otherwise returns the base images that the Dockerfile names.
 *
 * - The container engine stores the images of all accounts, and the classic builder accepts a prefix of an image's id
 *   as a name.
 * - The container engine downloads the URLs in ADD over the machine's own network, which can reach loopback services
 *   and cloud metadata.
 * - A `# syntax` line names a program that runs in the builder and can access the caches of all accounts.
 * - A base image's triggers (ONBUILD) are lines that the image's author wrote. Portside can check only the triggers of
 *   an image whose name it knows.
 *
 * When in doubt, Portside rejects the line. https://docs.docker.com/reference/dockerfile/
 */

export interface DockerfileLine {
  /** The number of the line, starting at 1. */
  readonly line: number;
  readonly text: string;
}

export interface RefusedLine extends DockerfileLine {
  /** The problem, as a clause that follows the line, and the next step. */
  readonly why: string;
}

const BY_ID =
  "may name an image by its id, which could be another account's. Name images as NAME:TAG, such as node:24-bookworm-slim";
const REMOTE =
  "lets the container engine download from the machine's own network. Add the file to the source, or download it with RUN";
const FOREIGN_SYNTAX = "names an unsupported build program. Use docker/dockerfile, or remove the line";
const UNKNOWN =
  "names an image by a variable whose value Portside does not know. Write the full name, or use ARG NAME=VALUE before the first FROM";
const NO_NAME =
  "names an image in a form that Portside does not know. Name images as NAME:TAG, such as node:24-bookworm-slim";
const OTHER_PLATFORM = "builds for a platform other than the container engine's. Remove --platform";

/** Properties of the builder that affect how it reads lines. */
export interface Builder {
  /** The container engine's platform, such as linux/amd64. */
  readonly platform: string;
  /**
   * Whether the builder sets platform variables:
   * https://docs.docker.com/reference/dockerfile/#automatic-platform-args-in-the-global-scope
   */
  readonly knowsPlatforms: boolean;
}

/** An image that the container engine pulls for a build. */
export interface BaseImage extends DockerfileLine {
  readonly name: string;
}

/** The result of validating a Dockerfile. */
export type DockerfileVerdict =
  | { readonly refused: RefusedLine }
  | { readonly images: readonly BaseImage[]; readonly stages: Stages };

/** Build stages, which lines can name instead of images. */
export interface Stages {
  readonly names: ReadonlySet<string>;
  readonly count: number;
}

interface Instruction {
  readonly line: number;
  readonly words: readonly string[];
}

const isComment = (line: string): boolean => line.trimStart().startsWith("#");

/** @param mark the line continuation character; undefined if there is none */
const instructionsIn = (lines: readonly string[], mark: string | undefined): Instruction[] => {
  const found: Instruction[] = [];
  let pending: { line: number; text: string } | undefined;
  for (const [index, line] of lines.entries()) {
    if (isComment(line) || (pending !== undefined && line.trim() === "")) continue;
    const end = line.trimEnd();
    const continues = mark !== undefined && end.endsWith(mark);
    pending = { line: pending?.line ?? index + 1, text: (pending?.text ?? "") + (continues ? end.slice(0, -1) : line) };
    if (continues && index < lines.length - 1) continue;
    const words = pending.text.trim().split(/\s+/);
    while (words[0]?.toUpperCase() === "ONBUILD") words.shift();
    found.push({ line: pending.line, words });
    pending = undefined;
  }
  return found;
};

/** Removes quotes and escapes, as the builder does. */
const unquoted = (word: string): string => word.replace(/["'\\`]/g, "");

const ID = /^(?:sha256:)?[0-9a-f]+$/i;
/** Matches text in which every character can be part of an id. */
const LETTERS_OF_IDS = /^[0-9a-fsh:]*$/i;
const VARIABLE = /\$(?:\{[^}]*\}?|\w+)?/g;

const mayBeId = (name: string): boolean =>
  name.includes("$") ? LETTERS_OF_IDS.test(name.replace(VARIABLE, "")) : ID.test(name);

/** Values of variables in FROM, by name. */
type Values = ReadonlyMap<string, string>;

const KNOWN_VARIABLE = /\$(?:(\w+)|\{(\w+)(?:(:?[-+])([^${}]*))?\})/g;

/** Substitutes the variables in a word. Returns undefined if a variable has an unknown form. */
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
  if (!knowsPlatforms) return [];
  const [OS = "", ARCH = ""] = platform.split("/");
  return Object.entries({ PLATFORM: platform, OS, ARCH }).flatMap(([name, value]): [string, string][] => [
    [`TARGET${name}`, value],
    [`BUILD${name}`, value],
  ]);
};

/** Returns the variables that FROM can use: those before the first FROM. An unknown value is `$`. */
const valuesIn = (instructions: readonly Instruction[], builder: Builder): Values => {
  const values = new Map(platformValues(builder));
  for (const { words } of instructions) {
    const name = words[0]?.toUpperCase();
    if (name === "FROM") break;
    for (const word of name === "ARG" ? words.slice(1) : []) {
      const [variable = "", ...value] = word.split("=");
      if (value.length === 0) continue;
      const text = unquoted(value.join("="));
      // Builders differ in whether the platform's value or the line's value takes precedence.
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

/** Returns the sources of an ADD instruction, in its plain or JSON form. */
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

/** Returns the values of an option: the rest of each word that starts with the option. */
const valuesOf = (words: readonly string[], option: string): string[] =>
  words.filter((word) => word.startsWith(option)).map((word) => word.slice(option.length));

const firstArgument = (words: readonly string[]): number => {
  const at = words.findIndex((word) => !word.startsWith("--"));
  return at === -1 ? words.length : at;
};

/** The context of an instruction. */
interface Before {
  readonly values: Values;
  readonly builder: Builder;
  readonly stages: Set<string>;
  readonly stageCount: number;
}

/** The image that an instruction names, or the reason to reject it; undefined if the instruction names no image. */
type Named = { readonly why: string } | { readonly image: string } | undefined;

/**
 * The syntax of image names: https://pkg.go.dev/github.com/distribution/reference. `TRANSPORT` excludes file locations,
 * such as Podman's `oci-archive:/PATH`.
 */
const NAME =
  /^(?:(?:[a-z0-9.-]+|\[[0-9a-f:]+\])(?::\d+)?\/)?(?:[\w.-]+\/)*[\w.-]+(?::[\w.-]+)?(?:@sha256:[0-9a-f]+)?$/i;
const TRANSPORT = /^(?:containers-storage|dir|oci|sif|tarball|[a-z]+-(?:archive|daemon)):/i;
const MAX_LENGTH = 500;

const isName = (image: string): boolean => image.length <= MAX_LENGTH && NAME.test(image) && !TRANSPORT.test(image);

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

/**
 * Returns the number of the first line that selects a build program other than docker/dockerfile; 0 if there is none.
 */
const foreignSyntaxIn = (lines: readonly string[]): number => {
  for (const [index, line] of lines.entries()) {
    const text = line.replace(/^\uFEFF/, "").trim();
    const [, program] = SYNTAX.exec(text) ?? [];
    if (program !== undefined && !OWN_SYNTAX.test(program)) return index + 1;
    // Newer builders also read "syntax" from a JSON object at the beginning of the file.
    if (text.startsWith("{")) return index + 1;
    if (text !== "" && !text.startsWith("#") && !text.startsWith("//")) return 0;
  }
  return 0;
};

/** Returns whether the file may set the escape character. Builders differ in how they read directives. */
const mayEscape = (lines: readonly string[]): boolean => {
  const end = lines.findIndex((line) => line.trim() !== "" && !isComment(line.replace(/^\uFEFF/, "")));
  return lines.slice(0, end === -1 ? undefined : end).some((line) => /#\s*escape\s*=/i.test(line));
};

/** Reads the lines with `mark` as the escape character. Returns the images that each line names, and the stages. */
const readingOf = (lines: readonly string[], mark: string | undefined, builder: Builder, outerStages: Stages) => {
  const instructions = instructionsIn(lines, mark);
  const isFrom = ({ words }: Instruction) => words[0]?.toUpperCase() === "FROM";
  const stageCount = instructions.filter(isFrom).length + outerStages.count;
  const stages = new Set(outerStages.names);
  const before: Before = { values: valuesIn(instructions, builder), builder, stages, stageCount };
  const found = instructions.flatMap((instruction) =>
    namedBy(instruction, before).flatMap((one) => (one === undefined ? [] : { line: instruction.line, ...one })),
  );
  return { found, stages: { names: stages, count: stageCount } };
};

/**
 * The ways to read a Dockerfile differ in the escape character. These reasons apply in every reading. The other reasons
 * apply only in a reading that a builder may use.
 */
const ALWAYS = [BY_ID, REMOTE];

/**
 * Returns the first rejected line, or the Dockerfile's images if no line is rejected.
 * @param outerStages for a base image's trigger, the stages of the Dockerfile that names the image
 */
export const validateDockerfile = (
  dockerfile: string,
  builder: Builder,
  outerStages: Stages = { names: new Set(), count: 0 },
): DockerfileVerdict => {
  const lines = dockerfile.split(/\r?\n/);
  const at = (line: number) => ({ line, text: (lines[line - 1] ?? "").trim() });
  const syntax = foreignSyntaxIn(lines);
  if (syntax > 0) return { refused: { ...at(syntax), why: FOREIGN_SYNTAX } };
  // A builder may read the file in any of these ways, so the result contains the images of all readings.
  const readings = ["\\", ...(mayEscape(lines) ? ["`"] : [])].map((mark) =>
    readingOf(lines, mark, builder, outerStages),
  );
  // In the other readings, only the reasons in `ALWAYS` apply.
  const others = ["`", undefined].map((mark) => readingOf(lines, mark, builder, outerStages));
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
