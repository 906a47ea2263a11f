/**
 * Finds every use of a function that changes the file system. Tenant code can plant links in the folders that it
 * writes, so each use has an entry in the table of `written-files.ts` with the reason why it is safe.
 */
import { parseSync } from "vite";

const changing = [
  "appendFile",
  "chmod",
  "chown",
  "copyFile",
  "cp",
  "fchmod",
  "fchown",
  "ftruncate",
  "futimes",
  "lchmod",
  "lchown",
  "link",
  "lutimes",
  "mkdir",
  "mkdtemp",
  "open",
  "openAsBlob",
  "rename",
  "rm",
  "rmdir",
  "symlink",
  "truncate",
  "unlink",
  "utimes",
  "write",
  "writeFile",
  "writev",
].flatMap((name) => [name, `${name}Sync`]);

const functions = new Set([
  ...changing,
  "DatabaseSync",
  "createWriteStream",
  "promises",
  "mkdtempDisposable",
  "mkdtempDisposableSync",
]);
const modules = /^(?:node:)?(?:fs(?:\/promises)?|sqlite)$/;
/** A method of an open file. Excludes `write`, which streams have too, and `open`, which is a function. */
const methods = new Set(["appendFile", "chmod", "chown", "truncate", "utimes", "writeFile", "writev"]);

/** An import that hides which functions the file uses. */
const ANY = "*";

interface Node {
  readonly type: string;
  readonly [field: string]: unknown;
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && typeof (value as { type?: unknown }).type === "string";

const visit = (value: unknown, see: (node: Node) => void): void => {
  if (Array.isArray(value)) for (const one of value) visit(one, see);
  if (!isNode(value)) return;
  see(value);
  for (const inner of Object.values(value)) visit(inner, see);
};

const nameOf = (value: unknown): string | undefined =>
  isNode(value) && typeof value["name"] === "string" ? value["name"] : undefined;

const calledName = (callee: unknown): string =>
  nameOf(callee) ??
  (isNode(callee) && callee.type === "MemberExpression" ? nameOf(callee["property"]) : undefined) ??
  "";

type Module = ReturnType<typeof parseSync>["module"];

const importsOf = ({ staticImports, staticExports }: Module): string[] => [
  ...staticImports
    .filter(({ moduleRequest }) => modules.test(moduleRequest.value))
    .flatMap(({ entries }) => entries.filter(({ isType }) => !isType))
    .map(({ importName }) => (importName.kind === "Name" ? (importName.name ?? ANY) : ANY))
    .filter((name) => name === ANY || functions.has(name)),
  ...staticExports
    .flatMap(({ entries }) => entries)
    .filter(({ moduleRequest }) => modules.test(moduleRequest?.value ?? ""))
    .map(() => ANY),
];

/** True for an import expression and for calls that load a module by name. */
const loadsModule = ({ type, source, callee, arguments: given }: Node): boolean => {
  const isLoader = type === "CallExpression" && ["require", "getBuiltinModule"].includes(calledName(callee));
  const path = type === "ImportExpression" ? source : isLoader && Array.isArray(given) ? given[0] : undefined;
  return isNode(path) && modules.test(String(path["value"]));
};

/** The names of the changing functions that a file uses, sorted; methods of open files begin with a dot. */
export const fileWritesOf = (file: string, code: string): readonly string[] => {
  const { program, module } = parseSync(file, code);
  const found = new Set(importsOf(module));
  const opensFiles = module.staticImports.some(({ moduleRequest }) => modules.test(moduleRequest.value));
  visit(program, (node) => {
    if (loadsModule(node)) found.add(ANY);
    const method = node.type === "MemberExpression" ? nameOf(node["property"]) : undefined;
    if (opensFiles && method !== undefined && methods.has(method)) found.add(`.${method}`);
  });
  return [...found].sort();
};
