/** Finds the web application of a Python source by the line that creates it. Pure. */
import type { SourceFiles } from "./files.ts";

export type Framework = "FastAPI" | "Flask" | "Starlette";

export interface PythonApp {
  readonly framework: Framework;
  /** The file that creates the application. */
  readonly path: string;
  /** The text of that file. */
  readonly text: string;
  /** The module name, relative to `root`. */
  readonly module: string;
  /** The variable, or the factory function. */
  readonly name: string;
  readonly isFactory: boolean;
  /** The folder from which Python imports modules: the top level, or `src`. */
  readonly root: "" | "src";
}

type Candidate = Pick<PythonApp, "path" | "text" | "module" | "root">;

const frameworks: readonly Framework[] = ["FastAPI", "Flask", "Starlette"];
const STEMS = ["main", "app", "application", "api", "server", "wsgi", "asgi", "__init__"];
const NAMES = ["app", "application", "api", "server"];
const NO_APP = new Set(["test", "tests", "docs", "examples", "scripts", "migrations", "setup", "conftest", "noxfile"]);
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Returns the position of a name in the order. Unknown names sort last. */
const rank = (name: string, order: readonly string[]): number => {
  const at = order.indexOf(name);
  return at === -1 ? order.length : at;
};

const candidateOf = (path: string, text: string): Candidate | undefined => {
  const parts = path.slice(0, -".py".length).split("/");
  const root = parts[0] === "src" && parts.length > 1 ? "src" : "";
  const names = root === "" ? parts : parts.slice(1);
  const stem = names.at(-1) as string;
  const isKnown = names.length === 1 ? stem !== "__init__" : STEMS.includes(stem);
  if (!isKnown || !names.every((name) => IDENTIFIER.test(name) && !NO_APP.has(name))) return undefined;
  const module = (stem === "__init__" ? names.slice(0, -1) : names).join(".");
  return { path, module, root, text };
};

const orderOf = ({ path, module, root }: Candidate) => {
  const stem = path.slice(path.lastIndexOf("/") + 1, -".py".length);
  return [root === "" ? 0 : 1, module.split(".").length + (stem === "__init__" ? 1 : 0), rank(stem, STEMS)];
};

const candidates = ({ texts }: SourceFiles): Candidate[] => {
  const found = [...texts].flatMap(([path, text]) => (path.endsWith(".py") ? (candidateOf(path, text) ?? []) : []));
  const ordered = found.map((one) => ({ one, order: orderOf(one) }));
  ordered.sort((a, b) => {
    const at = a.order.findIndex((value, index) => value !== b.order[index]);
    if (at !== -1) return (a.order[at] as number) - (b.order[at] as number);
    return a.one.path < b.one.path ? -1 : 1;
  });
  return ordered.map(({ one }) => one);
};

/** Maximum characters of a line. The rest is ignored. */
const LINE = 300;

const LONG_STRINGS = ['"""', "'''"] as const;

/**
 * Replaces multi-line strings with `""`. Takes linear time, because each search begins where the previous one ended.
 */
const withoutLongStrings = (text: string): string => {
  const pieces: string[] = [];
  const found = LONG_STRINGS.map((mark) => ({ mark, at: text.indexOf(mark) }));
  for (let from = 0; ; ) {
    for (const one of found) if (one.at !== -1 && one.at < from) one.at = text.indexOf(one.mark, from);
    const [first] = found.filter(({ at }) => at !== -1).sort((a, b) => a.at - b.at);
    pieces.push(text.slice(from, first?.at));
    const end = first === undefined ? -1 : text.indexOf(first.mark, first.at + 3);
    if (end === -1) return pieces.join('""');
    from = end + 3;
  }
};

/** Returns the lines of code, truncated to `LINE` characters. */
const codeLines = (text: string): string[] =>
  withoutLongStrings(text)
    .split("\n")
    .map((line) => line.slice(0, LINE));

/** `NAME = CALLED(`, with or without a type annotation. */
const ASSIGNS = /^([A-Za-z_]\w*)\s*(?::[^=]*)?=\s*([A-Za-z_][\w.]*)\s*\(/;
const FACTORY = /^def (create_app|make_app|get_app)\s*\(([^)]*)\)/;

const takesNothing = (parameters: string): boolean =>
  parameters
    .split(",")
    .map((one) => one.trim())
    .every((one) => one === "" || one.includes("=") || one.startsWith("*"));

interface Assigned {
  readonly name: string;
  /** The last name of the callee. */
  readonly called: string;
}

const assignedIn = (lines: readonly string[]): Assigned[] => {
  const found = lines.flatMap((line) => {
    const [, name, called] = ASSIGNS.exec(line) ?? [];
    if (name === undefined || called === undefined) return [];
    return { name, called: called.slice(called.lastIndexOf(".") + 1) };
  });
  return found.sort((a, b) => rank(a.name, NAMES) - rank(b.name, NAMES));
};

interface Assignments {
  readonly one: Candidate;
  readonly assigned: readonly Assigned[];
}

/** Maps each called name to the first variable that receives its result. */
const firstCallers = (assignments: readonly Assignments[]) => {
  const callers = new Map<string, { readonly one: Candidate; readonly name: string }>();
  for (const { one, assigned } of assignments)
    for (const { name, called } of assigned) if (!callers.has(called)) callers.set(called, { one, name });
  return callers;
};

/** Returns the first application of the source. A variable takes precedence over a factory function. */
export const findPythonApp = (files: SourceFiles): PythonApp | undefined => {
  const all = candidates(files).map((one) => ({ ...one, lines: codeLines(one.text) }));
  const appOf = ({ path, text, module, root }: Candidate, framework: Framework, name: string, isFactory: boolean) => ({
    framework,
    path,
    text,
    module,
    root,
    name,
    isFactory,
  });
  const assignments = all.map((one) => ({ one, assigned: assignedIn(one.lines) }));
  for (const { one, assigned } of assignments)
    for (const { name, called } of assigned) {
      const framework = frameworks.find((known) => known === called);
      if (framework !== undefined) return appOf(one, framework, name, false);
    }
  const callers = firstCallers(assignments);
  for (const factory of all) {
    const framework = frameworks.find((known) => factory.text.includes(`${known}(`));
    const [, made, parameters = ""] = factory.lines.map((line) => FACTORY.exec(line)).find(Boolean) ?? [];
    if (framework === undefined || made === undefined) continue;
    const caller = callers.get(made);
    if (caller !== undefined) return appOf(caller.one, framework, caller.name, false);
    if (takesNothing(parameters)) return appOf(factory, framework, made, true);
  }
  return undefined;
};
