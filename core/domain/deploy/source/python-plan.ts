/** Chooses the start command of a Python source. Pure. */
import { type SourceFiles, SourcePlanError } from "./files.ts";
import { findPythonApp, type PythonApp } from "./python-app.ts";
import { type PythonInstall, type PythonProject, type Requirements, readPythonProject } from "./requirements.ts";

export interface PythonPlan {
  readonly kind: "python";
  readonly command: string;
  /** The origin of the command. */
  readonly startedBy: "procfile" | "source";
  readonly install: PythonInstall | undefined;
  readonly warnings: readonly string[];
}

type Start = Pick<PythonPlan, "command" | "warnings">;

/** The application in the form that servers accept: `MODULE:NAME`. */
interface Target {
  readonly module: string;
  readonly name: string;
  readonly isFactory: boolean;
}

type Server = (target: Target, files: SourceFiles) => string;
type NamedServer = readonly [name: string, server: Server];

const object = ({ module, name }: Target): string => `${module}:${name}`;
/** Formats the application for servers that accept a call expression. */
const called = (target: Target): string => (target.isFactory ? `'${object(target)}()'` : object(target));

/** Sets `--threads`, because gunicorn's default is one process with one thread, which serves one request at a time. */
const gunicorn: Server = (target, { paths }) =>
  `gunicorn --bind 0.0.0.0:$PORT${paths.has("gunicorn.conf.py") ? "" : " --threads 8"} ${called(target)}`;

/** Servers by the names of their packages. The plan uses the first one that the project requires. */
const servers: Readonly<Record<"wsgi" | "asgi", readonly [NamedServer, ...NamedServer[]]>> = {
  wsgi: [
    ["gunicorn", gunicorn],
    ["waitress", (it) => `waitress-serve --listen=0.0.0.0:$PORT ${it.isFactory ? "--call " : ""}${object(it)}`],
  ],
  asgi: [
    ["uvicorn", (it) => `uvicorn --host 0.0.0.0 --port $PORT ${it.isFactory ? "--factory " : ""}${object(it)}`],
    ["hypercorn", (it) => `hypercorn --bind 0.0.0.0:$PORT ${called(it)}`],
  ],
};

/** FastAPI extras that include uvicorn. */
const UVICORN_EXTRAS = ["standard", "all"];

const serverFor = (kind: "wsgi" | "asgi", requirements: Requirements): Server | undefined =>
  servers[kind].find(
    ([name]) =>
      requirements.has(name) ||
      (name === "uvicorn" && UVICORN_EXTRAS.some((extra) => requirements.get("fastapi")?.has(extra))),
  )?.[1];

const developmentServer = (framework: string): string =>
  `warning: the requirements include no production server, so ${framework}'s development server starts; add 'gunicorn'`;

const missing = (what: string, framework: string, server: string): SourcePlanError =>
  new SourcePlanError(`${what} Add requirements.txt with the lines '${framework}' and '${server}'.`);

const startApp = (app: PythonApp, { install, requirements }: PythonProject, files: SourceFiles): Start => {
  const kind = app.framework === "Flask" ? "wsgi" : "asgi";
  const [[recommended]] = servers[kind];
  if (install === undefined)
    throw missing(
      `${app.path} uses ${app.framework}, but no file lists requirements.`,
      app.framework.toLowerCase(),
      recommended,
    );
  const server = serverFor(kind, requirements);
  const inRoot = app.root === "" ? "" : `env PYTHONPATH=${app.root} `;
  if (server !== undefined) return { command: `exec ${inRoot}${server(app, files)}`, warnings: [] };
  if (startsItself(app.text)) return { command: `exec python3 -u ${app.path}`, warnings: [] };
  if (kind === "asgi")
    throw new SourcePlanError(
      `${app.path} uses ${app.framework}, but the requirements include no server for it. Add 'uvicorn' to ${install.file === "requirements.txt" ? install.file : "the dependencies in pyproject.toml"}, or write the command in a Procfile: 'web: COMMAND'.`,
    );
  const flask = `flask --app ${app.module}:${app.name} run --host 0.0.0.0 --port $PORT`;
  return { command: `exec ${inRoot}${flask}`, warnings: [developmentServer("Flask")] };
};

/** Returns whether the file seems to start a server on `PORT` when it runs as the main program. */
const startsItself = (text: string): boolean =>
  text.includes("__main__") && text.includes("PORT") && text.includes(".run(");

const DJANGO = "DJANGO_SETTINGS_MODULE";
const MODULE = /^[A-Za-z_][A-Za-z0-9_.]*$/;

/** Returns the settings module that manage.py names. */
const settingsIn = (manage: string): string | undefined => {
  const at = manage.indexOf(DJANGO);
  if (at === -1) return undefined;
  // In the rest of the statement, a quote ends the variable's name, and the module is between the next two quotes.
  const [, , double] = manage.slice(at, at + 300).split('"');
  const [, , single] = manage.slice(at, at + 300).split("'");
  return [double, single].find((module) => module !== undefined && MODULE.test(module));
};

/**
 * Starts Django's `runserver` without its migration check. The check opens the database, which may be a file in the
 * read-only source folder.
 */
const RUNSERVER = `python3 -u -c 'import runpy, sys; from django.core.management.base import BaseCommand; BaseCommand.check_migrations = lambda self: None; sys.argv[:] = ["manage.py", "runserver", "--noreload", "0.0.0.0:" + sys.argv[1]]; runpy.run_path("manage.py", run_name="__main__")' "$PORT"`;

const FOLDER = /^[A-Za-z0-9_][A-Za-z0-9._-]*$/;

/** Returns the folder and the settings module of the first manage.py that names a module; undefined if none does. */
const djangoOf = ({ texts }: SourceFiles): { readonly folder: string; readonly settings: string } | undefined => {
  for (const [path, text] of [...texts].sort(([a], [b]) => a.length - b.length)) {
    if (path !== "manage.py" && !path.endsWith("/manage.py")) continue;
    const [folder = "", settings] = [path.slice(0, -"manage.py".length), settingsIn(text)];
    if (settings !== undefined && (folder === "" || FOLDER.test(folder.slice(0, -1)))) return { folder, settings };
  }
  return undefined;
};

const startDjango = (
  { folder, settings }: { readonly folder: string; readonly settings: string },
  { install, requirements }: PythonProject,
  files: SourceFiles,
): Start => {
  if (install === undefined)
    throw missing(`${folder}manage.py uses Django, but no file lists requirements.`, "django", "gunicorn");
  const enter = folder === "" ? "" : `cd ${folder.slice(0, -1)} && `;
  const [top = ""] = settings.split(".");
  // For nested settings, such as config.settings.production, the application is in the outermost package.
  const target = (name: "wsgi" | "asgi") => ({ module: `${top}.${name}`, name: "application", isFactory: false });
  const kinds = (["wsgi", "asgi"] as const).filter((kind) => files.paths.has(`${folder}${top}/${kind}.py`));
  for (const kind of kinds) {
    const server = serverFor(kind, requirements);
    if (server !== undefined) return { command: `${enter}exec ${server(target(kind), files)}`, warnings: [] };
  }
  return { command: `${enter}exec ${RUNSERVER}`, warnings: [developmentServer("Django")] };
};

const SCRIPTS = ["web", "start", "serve", "server"];
const PROGRAM = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

const noStartCommand = ({ requirements }: PythonProject): SourcePlanError => {
  const framework = ["Django", "FastAPI", "Flask", "Starlette"].find((name) => requirements.has(name.toLowerCase()));
  const example =
    framework === undefined || framework === "Django" || framework === "Flask"
      ? "web: gunicorn --bind 0.0.0.0:$PORT MODULE:app"
      : "web: uvicorn --host 0.0.0.0 --port $PORT MODULE:app";
  const found = framework === undefined ? "no start command was found" : `no file creates a ${framework} application`;
  return new SourcePlanError(
    `The source is Python, but ${found}. Add main.py, or a Procfile with 'web: COMMAND', for example '${example}'.`,
  );
};

const startOf = (project: PythonProject, files: SourceFiles): Start => {
  const plain = (command: string): Start => ({ command: `exec ${command}`, warnings: [] });
  const scripts = project.scripts.filter((name) => PROGRAM.test(name));
  const named = SCRIPTS.find((name) => scripts.includes(name));
  if (named !== undefined) return plain(named);
  const django = djangoOf(files);
  if (django !== undefined) return startDjango(django, project, files);
  const app = findPythonApp(files);
  if (app !== undefined) return startApp(app, project, files);
  const file = ["main.py", "app.py"].find((name) => files.paths.has(name));
  if (file !== undefined) return plain(`python3 -u ${file}`);
  const [only] = scripts;
  if (only !== undefined && scripts.length === 1) return plain(only);
  throw noStartCommand(project);
};

/** @param procfile the Procfile's command, which takes precedence */
export const planPython = (files: SourceFiles, procfile: string | undefined): PythonPlan => {
  const project = readPythonProject(files);
  const start = procfile === undefined ? startOf(project, files) : { command: procfile, warnings: [] };
  const startedBy = procfile === undefined ? "source" : "procfile";
  return { kind: "python", ...start, startedBy, install: project.install };
};
