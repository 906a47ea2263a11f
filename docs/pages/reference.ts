/** Generates a page for each subpath of the package, with the comments and types of its exports. */
import { readFileSync } from "node:fs";
import { posix } from "node:path";
import { type ESTree, parseSync } from "vite";
import { sources } from "../../test/examples/sources.ts";
import { GENERATED } from "./markdown.ts";

type Statement = ESTree.Program["body"][number];

interface Module {
  readonly path: string;
  readonly code: string;
  readonly body: readonly Statement[];
  readonly comments: readonly { readonly type: string; readonly start: number; readonly end: number }[];
}

const modules = new Map<string, Module>();

const moduleAt = (path: string): Module => {
  const code = readFileSync(path, "utf8");
  const { program, comments } = parseSync(path, code);
  const made = modules.get(path) ?? { path, code, body: program.body, comments };
  modules.set(path, made);
  return made;
};

const textOf = (name: ESTree.ModuleExportName): string => (name.type === "Literal" ? String(name.value) : name.name);

/** The names that a statement declares. */
const declared = (statement: Statement): string[] => {
  if (statement.type !== "ExportNamedDeclaration" || statement.declaration === null) return [];
  const { declaration } = statement;
  if (declaration.type === "VariableDeclaration")
    return declaration.declarations.flatMap(({ id }) => (id.type === "Identifier" ? [id.name] : []));
  return "id" in declaration && declaration.id?.type === "Identifier" ? [declaration.id.name] : [];
};

/** The maximum number of lines of a value. The page shows only the name of a longer value. */
const LONGEST_VALUE = 80;

/** Returns the comment and the declaration. Functions and classes have only their signature. */
const declarationIn = ({ code, comments }: Module, statement: Statement): string => {
  const comment = comments.find(({ end }) => end <= statement.start && code.slice(end, statement.start).trim() === "");
  const words = comment === undefined ? "" : `${code.slice(comment.start, comment.end)}\n`;
  const { declaration } = statement as ESTree.ExportNamedDeclaration;
  const variable = declaration?.type === "VariableDeclaration" ? declaration.declarations[0] : undefined;
  const init = variable?.init;
  if (init === undefined || init === null) {
    const body = declaration?.type === "ClassDeclaration" ? declaration.body.start : statement.end;
    return words + code.slice(statement.start, body).trimEnd();
  }
  const whole = code.slice(statement.start, statement.end);
  const isFunction = init.type === "ArrowFunctionExpression";
  const saysItsType = variable?.id.typeAnnotation != null;
  if (!isFunction && !saysItsType && whole.split("\n").length <= LONGEST_VALUE) return words + whole;
  const end = isFunction ? init.body.start : init.start;
  return words + code.slice(statement.start, end).replace(/\s*(=>|=)\s*[({]?\s*$/, "");
};

const beside = ({ path }: Module, other: string): string => posix.join(posix.dirname(path), other);

/** Returns the source file of a re-exported name. No file renames a re-export. */
const importedFrom = ({ body }: Module, name: string): string | undefined =>
  body
    .filter((statement) => statement.type === "ImportDeclaration")
    .find(({ specifiers }) => specifiers.some(({ local }) => local.name === name))?.source.value;

/** Returns the declaration of a name in any file; undefined if another package declares it. */
const findDeclaration = (module: Module, name: string): string | undefined => {
  for (const statement of module.body) {
    if (declared(statement).includes(name)) return declarationIn(module, statement);
    if (statement.type === "ExportAllDeclaration") {
      const found = findDeclaration(moduleAt(beside(module, statement.source.value)), name);
      if (found !== undefined) return found;
    }
    if (statement.type !== "ExportNamedDeclaration") continue;
    const specifier = statement.specifiers.find(({ exported }) => textOf(exported) === name);
    if (specifier === undefined) continue;
    const local = textOf(specifier.local);
    const from = statement.source?.value ?? importedFrom(module, local);
    return from?.startsWith(".") === true ? findDeclaration(moduleAt(beside(module, from)), local) : undefined;
  }
  return undefined;
};

const exportedBy = (module: Module): string[] =>
  module.body.flatMap((statement) => {
    if (statement.type === "ExportAllDeclaration") return exportedBy(moduleAt(beside(module, statement.source.value)));
    if (statement.type !== "ExportNamedDeclaration") return [];
    return [...declared(statement), ...statement.specifiers.map(({ exported }) => textOf(exported))];
  });

/** Returns the comment at the beginning of the file. */
const introduction = ({ code, comments }: Module): string => {
  const [first] = comments;
  if (first === undefined || code.slice(0, first.start).trim() !== "") return "";
  return code
    .slice(first.start + 3, first.end - 2)
    .replaceAll(/^ ?\* ?/gm, "")
    .replaceAll("```ts\n", "```typescript\n")
    .trim();
};

const pageOf = (specifier: string, path: string): string => {
  const module = moduleAt(path);
  const sections = exportedBy(module)
    .sort((a, b) => a.toLowerCase().localeCompare(b.toLowerCase(), "en"))
    .flatMap((name) => {
      const declaration = findDeclaration(module, name);
      return declaration === undefined ? [] : [`## ${name}\n\n\`\`\`typescript\n${declaration}\n\`\`\``];
    });
  return `# ${specifier}\n\n${GENERATED}\n\n${introduction(module)}\n\n${sections.join("\n\n")}\n`;
};

const fileOf = (specifier: string): string => `docs/exports/${specifier.replace("/", "-")}.md`;

/** Returns a page for each subpath. */
export const referencePages = (): Readonly<Record<string, string>> =>
  Object.fromEntries([...sources].map(([specifier, path]) => [fileOf(specifier), pageOf(specifier, path)]));
