/** Reads the requirements of a Python project from requirements.txt, pyproject.toml and lock files. Pure. */

import { type SourceFiles, SourcePlanError } from "./files.ts";
import { readToml, type TomlTable, type TomlValue, tomlList, tomlTable, tomlText } from "./toml.ts";

/** Maps normalized package names to their extras. */
export type Requirements = ReadonlyMap<string, ReadonlySet<string>>;

export interface PythonInstall {
  /** The file that determines the packages. */
  readonly file: "requirements.txt" | "pyproject.toml" | "uv.lock" | "poetry.lock";
  /** True if pip installs the project itself, with its dependencies. */
  readonly project: boolean;
  /** Requirements to pass to pip. Empty if pip reads them from requirements.txt or from the project itself. */
  readonly requirements: readonly string[];
  /** The versions in the lock file, as pip constraints. */
  readonly constraints: readonly string[];
}

/** https://packaging.python.org/en/latest/specifications/name-normalization/ */
const normalize = (name: string): string => name.toLowerCase().replace(/[-_.]+/g, "-");

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*/;

/**
 * Parses the name and the extras of a requirement: https://peps.python.org/pep-0508/. Returns undefined if the line has
 * no name.
 */
const nameOf = (line: string): readonly [string, ReadonlySet<string>] | undefined => {
  const name = NAME.exec(line)?.[0];
  if (name === undefined) return undefined;
  const rest = line.slice(name.length).trimStart();
  const end = rest.startsWith("[") ? rest.indexOf("]") : -1;
  const extras = rest.slice(1, Math.max(end, 1)).split(",");
  return [normalize(name), new Set(extras.map((one) => normalize(one.trim())).filter((one) => one !== ""))];
};

const namesOf = (lines: readonly string[]): Requirements => {
  const names = new Map<string, Set<string>>();
  for (const line of lines) {
    const found = nameOf(line);
    if (found === undefined) continue;
    const extras = names.get(found[0]) ?? new Set();
    names.set(found[0], extras);
    for (const extra of found[1]) extras.add(extra);
  }
  return names;
};

const INCLUDES = ["-r ", "--requirement ", "--requirement="];

/** Returns the lines of a requirements file and of the files that it includes. */
const linesOf = (files: SourceFiles, path: string): string[] => {
  const lines: string[] = [];
  const read = new Set<string>();
  const unread = [path];
  for (let next = unread.pop(); next !== undefined; next = unread.pop()) {
    if (read.has(next)) continue;
    read.add(next);
    for (const line of (files.texts.get(next) ?? "").split("\n").map((one) => one.trim())) {
      const include = INCLUDES.find((option) => line.startsWith(option));
      if (include === undefined) lines.push(line);
      else unread.push(line.slice(include.length).trim());
    }
  }
  return lines;
};

const parse = (files: SourceFiles, path: string): TomlTable => {
  const text = files.texts.get(path);
  if (text === undefined) throw new SourcePlanError(`${path} is too large to read. Make it smaller.`, "build_failed");
  const read = readToml(text);
  if ("table" in read) return read.table;
  throw new SourcePlanError(`${path} is not valid TOML. Correct line ${read.flawedLine}.`, "build_failed");
};

const textsIn = (values: readonly TomlValue[]): string[] => values.filter((value) => typeof value === "string");

/** Converts a Poetry dependency to a requirement without its version, which the lock file contains. */
const poetryRequirement = (name: string, value: TomlValue): string[] => {
  if (name === "python" || !(value instanceof Map)) return name === "python" ? [] : [name];
  if (tomlText(value, "optional") === "true") return [];
  const extras = textsIn(tomlList(value, "extras"));
  const markers = tomlText(value, "markers");
  return [`${name}${extras.length > 0 ? `[${extras.join(",")}]` : ""}${markers === undefined ? "" : ` ; ${markers}`}`];
};

const directRequirements = (project: TomlTable): string[] => {
  const poetry = [...(tomlTable(project, "tool", "poetry", "dependencies") ?? [])];
  return [
    ...textsIn(tomlList(project, "project", "dependencies")),
    ...poetry.flatMap(([name, value]) => poetryRequirement(name, value)),
  ];
};

const EXPORTS = {
  "uv.lock": "uv export --no-dev --no-hashes --no-emit-project -o requirements.txt",
  "poetry.lock": "poetry export --without-hashes -o requirements.txt",
} as const;
type Lock = keyof typeof EXPORTS;

/** Returns the pip constraint of a locked package, without its name. Undefined for the project itself. */
const constraintOf = (name: string, locked: TomlTable, lock: Lock): string | undefined => {
  const version = tomlText(locked, "version");
  const source = tomlTable(locked, "source");
  const at = (key: string) => (source === undefined ? undefined : tomlText(source, key));
  if (at("virtual") === "." || at("editable") === ".") return undefined;
  const git = at("git") ?? (at("type") === "git" ? at("url") : undefined);
  if (git !== undefined) {
    const [address = "", commit] = git.split("#");
    return ` @ git+${address.split("?")[0]}@${at("resolved_reference") ?? at("reference") ?? commit ?? "HEAD"}`;
  }
  if (at("type") === "url" || (source?.size === 1 && at("url") !== undefined)) return ` @ ${at("url")}`;
  const isRegistry = source === undefined || at("registry") !== undefined || at("type") === "legacy";
  if (isRegistry && version !== undefined) return `==${version}`;
  throw new SourcePlanError(
    `${lock} installs '${name}' from a folder or from another source that Portside does not support. Create requirements.txt with '${EXPORTS[lock]}'.`,
    "build_failed",
  );
};

/** Omits packages with several locked versions (by platform or Python version). For these, pip chooses the version. */
const constraintsIn = (table: TomlTable, lock: Lock): string[] => {
  const found = tomlList(table, "package").flatMap((locked) => {
    const name = locked instanceof Map ? tomlText(locked, "name") : undefined;
    const constraint = name === undefined ? undefined : constraintOf(name, locked as TomlTable, lock);
    return constraint === undefined ? [] : [{ name, text: `${name}${constraint}` }];
  });
  const byName = Map.groupBy(found, ({ name }) => name);
  return [...byName.values()].flatMap((all) => (all.length === 1 ? all.map(({ text }) => text) : []));
};

/**
 * Returns whether pip can install the project itself. A Poetry project must also contain its module, because Poetry
 * writes a build system even for projects that are not packages.
 */
const isPackage = (project: TomlTable, files: SourceFiles): boolean => {
  const backend = tomlText(project, "build-system", "build-backend");
  const poetry = tomlTable(project, "tool", "poetry");
  if (tomlTable(project, "build-system") === undefined) return false;
  if (poetry !== undefined && tomlText(poetry, "package-mode") === "false") return false;
  if (
    backend === undefined ||
    !backend.startsWith("poetry") ||
    tomlList(project, "tool", "poetry", "packages").length > 0
  )
    return true;
  const name = tomlText(project, "project", "name") ?? tomlText(project, "tool", "poetry", "name") ?? "";
  const module = normalize(name).replaceAll("-", "_");
  return [module, `src/${module}`].some((path) => files.folders.has(path) || files.paths.has(`${path}.py`));
};

export interface PythonProject {
  /** Undefined if no file lists requirements. */
  readonly install: PythonInstall | undefined;
  readonly requirements: Requirements;
  /** The programs that the project installs. */
  readonly scripts: readonly string[];
}

const scriptsOf = (project: TomlTable): string[] => [
  ...(tomlTable(project, "project", "scripts") ?? tomlTable(project, "tool", "poetry", "scripts") ?? new Map()).keys(),
];

/** Reads a Python project. requirements.txt takes precedence over pyproject.toml, as in Google's buildpacks. */
export const readPythonProject = (files: SourceFiles): PythonProject => {
  if (files.paths.has("requirements.txt"))
    return {
      install: { file: "requirements.txt", project: false, requirements: [], constraints: [] },
      requirements: namesOf(linesOf(files, "requirements.txt")),
      scripts: [],
    };
  if (!files.paths.has("pyproject.toml")) return { install: undefined, requirements: new Map(), scripts: [] };
  const project = parse(files, "pyproject.toml");
  const requirements = directRequirements(project);
  const lock = (["uv.lock", "poetry.lock"] as const).find((name) => files.paths.has(name));
  const isPoetryWithoutLock = lock === undefined && tomlTable(project, "tool", "poetry", "dependencies") !== undefined;
  const installsItself = isPackage(project, files);
  if (isPoetryWithoutLock && !installsItself)
    throw new SourcePlanError(
      "pyproject.toml lists dependencies for Poetry, but poetry.lock is missing. Run 'poetry lock' and deploy again.",
      "build_failed",
    );
  return {
    install: {
      file: lock ?? "pyproject.toml",
      project: installsItself,
      requirements: installsItself ? [] : requirements,
      constraints: lock === undefined ? [] : constraintsIn(parse(files, lock), lock),
    },
    requirements: namesOf(requirements),
    scripts: installsItself ? scriptsOf(project) : [],
  };
};
