/** Detects the kind of a source and its start command, by the same rules on every provider. Pure. */
import type { DeployFailure } from "../reason.ts";
import { type SourceFiles, SourcePlanError } from "./files.ts";
import { hasStartCommand, type NodePlan, planNode, readPackage } from "./node-plan.ts";
import { webCommand } from "./procfile.ts";
import { type PythonPlan, planPython } from "./python-plan.ts";

export type SourcePlan =
  | NodePlan
  | PythonPlan
  | { readonly kind: "procfile"; readonly command: string; readonly warnings: readonly string[] }
  /** Static files. The provider supplies the web server. */
  | { readonly kind: "static"; readonly warnings: readonly string[] };

const PYTHON = [
  "requirements.txt",
  "pyproject.toml",
  "main.py",
  "app.py",
  "manage.py",
  "application.py",
  "wsgi.py",
  "asgi.py",
];
const STATIC = "index.html";

const LOOKED = ["Dockerfile", "package.json", ...PYTHON, "Procfile", STATIC].join(", ");

const nothingFound = ({ paths, folders }: SourceFiles): DeployFailure => {
  const top = [...folders].filter((folder) => !folder.includes("/"));
  const wrapped = ![...paths].some((path) => !path.includes("/")) && top.length === 1;
  const hint = wrapped ? ` All files are in the folder '${top[0]}'; pack the contents of that folder.` : "";
  return {
    reason: "no_builder",
    message: `Cannot detect how to build the source. Looked for: ${LOOKED}.${hint} To start anything else, add a Procfile with 'web: COMMAND'.`,
  };
};

const procfileCommand = ({ paths, texts }: SourceFiles): string | undefined => {
  if (!paths.has("Procfile")) return undefined;
  const text = texts.get("Procfile");
  if (text === undefined)
    throw new SourcePlanError("The Procfile is too large to read. Make it smaller.", "build_failed");
  const web = webCommand(text);
  if ("failure" in web) throw new SourcePlanError(web.failure.message, web.failure.reason);
  return web.command;
};

const plan = (files: SourceFiles): SourcePlan | DeployFailure => {
  const has = (name: string) => files.paths.has(name);
  const procfile = procfileCommand(files);
  const isPython =
    PYTHON.some(has) || (procfile === undefined && [...files.paths].some((path) => path.endsWith("/manage.py")));
  if (has("package.json")) {
    // A source of a different kind may have a package.json that only lists tools, such as a formatter.
    const manifest = readPackage(files.texts.get("package.json"));
    const isTools = procfile === undefined && !hasStartCommand(manifest, files) && manifest.workspaces === undefined;
    if (isTools && isPython) return planPython(files, procfile);
    if (isTools && has(STATIC) && manifest.scripts?.["build"] === undefined) return { kind: "static", warnings: [] };
    return planNode(files, manifest, procfile);
  }
  if (isPython) return planPython(files, procfile);
  if (procfile !== undefined) return { kind: "procfile", command: procfile, warnings: [] };
  return has(STATIC) ? { kind: "static", warnings: [] } : nothingFound(files);
};

/**
 * Plans a source by its first match: package.json (unless it only lists tools), Python files, a Procfile, index.html. A
 * Procfile, if present, determines the start command.
 */
export const planSource = (
  files: SourceFiles,
): { readonly plan: SourcePlan } | { readonly failure: DeployFailure; readonly isUnknown: boolean } => {
  try {
    const made = plan(files);
    return "kind" in made ? { plan: made } : { failure: made, isUnknown: true };
  } catch (error) {
    if (error instanceof SourcePlanError) return { failure: error.failure, isUnknown: false };
    throw error;
  }
};
