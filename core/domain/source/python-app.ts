/** Finds the web application in Python files, by the lines that make it. Pure; reads each text once. */
import type { SourceFiles } from "./files.ts";

export type Framework = "FastAPI" | "Flask" | "Starlette";

export interface PythonApp {
  readonly framework: Framework;
  /** Where it was found. */
  readonly path: string;
  /** As Python imports it, from `root`. */
  readonly module: string;
  /** The variable, or the function that makes it. */
  readonly name: string;
  readonly isFactory: boolean;
  /** The folder that modules are imported from: the source's, or `src`. */
  readonly root: "" | "src";
}

interface Candidate extends Pick<PythonApp, "path" | "module" | "root"> {
  readonly text: string;
}

const frameworks: readonly Framework[] = ["FastAPI", "Flask", "Starlette"];
const STEMS = ["main", "app", "application", "api", "server", "wsgi", "asgi", "__init__"];
const NAMES = ["app", "application", "api", "server"];
const NO_APP = new Set(["test", "tests", "docs", "examples", "scripts", "migrations", "setup", "conftest", "noxfile"]);
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Lower is earlier. */
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

/** Longer lines make no application. */
const LINE = 300;

/** The beginnings of the lines that stand in no string over several lines. */
const codeLines = (text: string): string[] => {
  const lines: string[] = [];
  let inside: string | undefined;
  let start = 0;
  for (let at = 0; at <= text.length; at++) {
    const character = text[at];
    if (character === "\n" || character === undefined) {
      if (start !== -1) lines.push(text.slice(start, Math.min(at, start + LINE)));
      start = inside === undefined ? at + 1 : -1;
    } else if (character === '"' || character === "'") {
      const mark = inside ?? character.repeat(3);
      if (!text.startsWith(mark, at)) continue;
      inside = inside === undefined ? mark : undefined;
      at += 2;
    }
  }
  return lines;
};

/** `NAME = CALLED(`, with or without a type. */
const ASSIGNS = /^([A-Za-z_]\w*)\s*(?::[^=]*)?=\s*([A-Za-z_][\w.]*)\s*\(/;
const FACTORY = /^def (create_app|make_app|get_app)\s*\(([^)]*)\)/;

const takesNothing = (parameters: string): boolean =>
  parameters
    .split(",")
    .map((one) => one.trim())
    .every((one) => one === "" || one.includes("=") || one.startsWith("*"));

interface Assigned {
  readonly name: string;
  /** The last name of what is called. */
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

/** The first application of the source; a variable goes before a function that makes one. */
export const findPythonApp = (files: SourceFiles): PythonApp | undefined => {
  const all = candidates(files).map((one) => ({ ...one, lines: codeLines(one.text) }));
  const appOf = ({ path, module, root }: Candidate, framework: Framework, name: string, isFactory: boolean) => ({
    ...{ framework, path, module, root, name, isFactory },
  });
  const assignments = all.map((one) => ({ one, assigned: assignedIn(one.lines) }));
  for (const { one, assigned } of assignments)
    for (const { name, called } of assigned) {
      const framework = frameworks.find((known) => known === called);
      if (framework !== undefined) return appOf(one, framework, name, false);
    }
  for (const factory of all) {
    const framework = frameworks.find((known) => factory.text.includes(`${known}(`));
    const [, made, parameters = ""] = factory.lines.map((line) => FACTORY.exec(line)).find(Boolean) ?? [];
    if (framework === undefined || made === undefined) continue;
    for (const { one, assigned } of assignments) {
      const call = assigned.find(({ called }) => called === made);
      if (call !== undefined) return appOf(one, framework, call.name, false);
    }
    if (takesNothing(parameters)) return appOf(factory, framework, made, true);
  }
  return undefined;
};
