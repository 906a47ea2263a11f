/**
 * Builds Python sources: installs dependencies into a virtual environment that the account's sources with the same
 * dependencies share.
 */
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { PythonPlan } from "../../../core/domain/deploy/source/python-plan.ts";
import type { PythonInstall } from "../../../core/domain/deploy/source/requirements.ts";
import { readText } from "../tenant-files/read-text.ts";
import { removeTree } from "../tenant-files/remove-tree.ts";
import { cacheKey, type ImageManifest } from "./image-store.ts";
import { type BuildContext, BuildError, insidePaths, programBinds, runCommand } from "./run-command.ts";
import { inspectPython, type PythonInterpreter } from "./toolchain.ts";

const fail = (message: string): never => {
  throw new BuildError({ reason: "no_builder", message });
};

const findInterpreter = async (context: BuildContext): Promise<PythonInterpreter> => {
  const { python } = context.toolchain;
  const found = python === undefined ? undefined : await inspectPython(python);
  return (
    found ??
    fail(
      "The source needs python3, which is missing or does not run on the platform's machine. Install it and deploy again.",
    )
  );
};

/** Part of an environment's key. Increase it if the layout of environments on disk changes. */
const LAYOUT = "3";

/** Paths in the folder of an environment. Build commands can write only below `venv`. */
const layoutOf = (folder: string) => ({
  venv: join(folder, "env"),
  record: join(folder, "complete"),
  /** Requirement files for pip. */
  inputs: join(folder, "inputs"),
});

/** The files of a usable environment. The interpreter is a link, which an upgrade of the machine's Python can break. */
const requiredFiles = (folder: string): string[] => {
  const { venv, record } = layoutOf(folder);
  return [record, join(venv, "pyvenv.cfg"), join(venv, "bin", "python")];
};

/** Writes the requirement files and returns pip's arguments. */
const pipArguments = async (install: PythonInstall, inputs: string): Promise<string[]> => {
  if (install.file === "requirements.txt") return ["-r", "requirements.txt"];
  const file = async (option: string, name: string, lines: readonly string[]) => {
    if (lines.length === 0) return [];
    const path = join(inputs, name);
    await writeFile(path, `${lines.join("\n")}\n`, { flag: "wx", mode: 0o644 });
    return [option, path];
  };
  return [
    ...(install.project ? ["."] : []),
    ...(await file("-r", "requirements.txt", install.requirements)),
    ...(await file("-c", "constraints.txt", install.constraints)),
  ];
};

/** Creates the virtual environment at its final path, because its scripts contain the path. */
const createVenv = async (
  context: BuildContext,
  python: PythonInterpreter,
  folder: string,
  install: PythonInstall,
): Promise<void> => {
  const { venv, record, inputs } = layoutOf(folder);
  await removeTree(folder);
  await mkdir(venv, { recursive: true });
  await mkdir(inputs, { mode: 0o755 });
  const binds = [
    ...programBinds([python.prefix]),
    { host: inputs, inside: inputs, writable: false },
    { host: venv, inside: venv, writable: true },
  ];
  const env = {
    PIP_CACHE_DIR: join(insidePaths(context).cache, "pip"),
    PIP_DISABLE_PIP_VERSION_CHECK: "1",
    PIP_NO_INPUT: "1",
  };
  context.say(`Creating a virtual environment with Python ${python.version}`);
  await runCommand(context, {
    what: "python3 -m venv (Debian package python3-venv)",
    argv: [python.executable, "-m", "venv", venv],
    binds,
    env,
  });
  const args = await pipArguments(install, inputs);
  context.say(`Installing dependencies from ${install.file}`);
  await runCommand(context, { what: "pip install", argv: [join(venv, "bin", "pip"), "install", ...args], binds, env });
  await writeFile(record, "", { flag: "wx" });
};

const aboutFiles = /^(-[a-z]|--(requirement|constraint|editable|find-links)|\.)|^[^-].*(\/|\.whl|\.zip|\.tar\.)/;

/**
 * Returns true if requirements.txt refers to files of the source through an option, a path, or the name of an archive.
 * https://pip.pypa.io/en/stable/reference/requirements-file-format/
 */
export const refersToSourceFiles = (requirements: string): boolean =>
  requirements.split("\n").some((line) => aboutFiles.test(line.replace(/(^|\s)#.*/, "").trim()));

/** Returns true if pip would install nothing. */
const installsNothing = ({ file, project, requirements }: PythonInstall): boolean =>
  file !== "requirements.txt" && !project && requirements.length === 0;

/**
 * Returns the inputs of the environment's key. If pip installs the project or files of the source, the source is an
 * input.
 */
const inputsOf = (context: BuildContext, install: PythonInstall): string => {
  if (install.file !== "requirements.txt") return JSON.stringify([install, install.project ? context.app : ""]);
  const text = readText(join(context.app, install.file));
  return JSON.stringify([text, refersToSourceFiles(text) ? context.app : ""]);
};

/** Returns the folder with the environment; undefined if the source has no dependencies. */
const venvFor = async (
  context: BuildContext,
  python: PythonInterpreter,
  venvs: string,
  install: PythonInstall | undefined,
): Promise<string | undefined> => {
  if (install === undefined || installsNothing(install)) return undefined;
  const folder = join(venvs, cacheKey([LAYOUT, inputsOf(context, install), python.executable, python.version]));
  // The first of several concurrent builds with the same dependencies creates the environment.
  await context.mutex.take(folder, context.signal, async () => {
    if (requiredFiles(folder).every((path) => existsSync(path)))
      return context.say(`Using cached dependencies for ${install.file}`);
    try {
      await createVenv(context, python, folder, install);
    } catch (error) {
      await removeTree(folder);
      throw error;
    }
  });
  return folder;
};

/** @param venvs the account's folder of virtual environments */
export const buildPython = async (
  context: BuildContext,
  venvs: string,
  { command, install }: PythonPlan,
): Promise<ImageManifest> => {
  const python = await findInterpreter(context);
  const folder = await venvFor(context, python, venvs, install);
  const home = folder === undefined ? python.prefix : layoutOf(folder).venv;
  return {
    kind: "python",
    command,
    path: [join(home, "bin")],
    needs: [...new Set([python.prefix, home])],
    requires: folder === undefined ? [] : requiredFiles(folder),
  };
};
