/** What a source is, from the names at its top: the first of these that fits decides how it is built. Pure. */
import type { DeployFailure } from "../../../core/domain/deploy-reason.ts";

export type SourceKind = "node" | "python" | "procfile";

const signs: readonly (readonly [SourceKind, readonly string[]])[] = [
  ["node", ["package.json"]],
  ["python", ["requirements.txt", "pyproject.toml", "main.py", "app.py"]],
  ["procfile", ["Procfile"]],
];

const looked = ["Dockerfile", ...signs.flatMap(([, names]) => names)].join(", ");

const nothingFound = (files: readonly string[], folders: readonly string[]): DeployFailure => {
  const wrapped = files.length === 0 && folders.length === 1;
  const hint = wrapped ? ` Everything is inside the folder '${folders[0]}'; pack from inside it.` : "";
  return { reason: "no_builder", message: `Nothing here says how to build it. Looked for: ${looked}.${hint}` };
};

/**
 * @param files the names of the files at the top of the source
 * @param folders the names of the folders there
 */
export const detectSource = (
  files: readonly string[],
  folders: readonly string[],
): { readonly kind: SourceKind } | { readonly failure: DeployFailure } => {
  const found = signs.find(([, marks]) => marks.some((mark) => files.includes(mark)));
  return found === undefined ? { failure: nothingFound(files, folders) } : { kind: found[0] };
};

const LINE = /^([A-Za-z0-9_-]+):\s*(\S.*?)\s*$/;

/** The command of a Procfile's one `web` process; a failure in words where it has another or several. */
export const webCommand = (procfile: string): { readonly command: string } | { readonly failure: DeployFailure } => {
  const fail = (message: string) => ({ failure: { reason: "build_failed" as const, message } });
  const lines = procfile.split(/\r?\n/).filter((line) => line.trim() !== "" && !line.trim().startsWith("#"));
  const processes: [string, string][] = [];
  for (const line of lines) {
    const match = LINE.exec(line);
    if (match === null) return fail(`The Procfile has a line that is not 'NAME: COMMAND': ${JSON.stringify(line)}`);
    processes.push([match[1] as string, match[2] as string]);
  }
  const web = processes.find(([name]) => name === "web");
  if (web === undefined) return fail("The Procfile has no 'web' process; name the one that listens on PORT 'web'.");
  const others = processes.filter((one) => one !== web).map(([name]) => name);
  if (others.length > 0)
    return fail(
      `The Procfile has ${processes.length} processes; a deployment runs one. Keep 'web' and deploy ${others.map((name) => `'${name}'`).join(", ")} under another name.`,
    );
  return { command: web[1] };
};
