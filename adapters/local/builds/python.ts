/** Python sources: dependencies into a virtual environment that is cached by what it depends on. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { PythonPlan } from "../../../core/domain/deploy/source/python-plan.ts";
import type { PythonInstall } from "../../../core/domain/deploy/source/requirements.ts";
import { readText } from "../tenant-files/read-text.ts";
import { removeTree } from "../tenant-files/remove-tree.ts";
import type { ImageManifest } from "./images.ts";
import { BuildFailed, insidePaths, programBinds, runCommand, type Workshop } from "./steps.ts";
import { inspectPython, type PythonInterpreter } from "./toolchain.ts";

const fail = (message: string): never => {
  throw new BuildFailed({ reason: "no_builder", message });
};

const findInterpreter = async (shop: Workshop): Promise<PythonInterpreter> => {
  const { python } = shop.toolchain;
  const found = python === undefined ? undefined : await inspectPython(python);
  return found ?? fail("The source is Python, and this machine has no python3; install it and deploy again.");
};

/** Changes when environments are laid out otherwise on disk. */
const LAYOUT = "3";

/** A folder with the environment in it. The record lies outside the environment, where no build command can write. */
const layoutOf = (folder: string) => ({
  venv: join(folder, "env"),
  record: join(folder, "complete"),
  /** Files for pip, which no build command can write either. */
  inputs: join(folder, "inputs"),
});

/** What a usable environment has. The interpreter is a link, which an upgrade of the machine's Python can break. */
const requiredFiles = (folder: string): string[] => {
  const { venv, record } = layoutOf(folder);
  return [record, join(venv, "pyvenv.cfg"), join(venv, "bin", "python")];
};

/** Writes what pip reads from files. */
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

/** Makes the virtual environment at its final place, because its scripts name their own path. */
const makeVenv = async (
  shop: Workshop,
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
    PIP_CACHE_DIR: join(insidePaths(shop).cache, "pip"),
    PIP_DISABLE_PIP_VERSION_CHECK: "1",
    PIP_NO_INPUT: "1",
  };
  shop.say(`Making a virtual environment with Python ${python.version}`);
  await runCommand(shop, {
    what: "python3 -m venv (Debian has it in python3-venv)",
    argv: [python.executable, "-m", "venv", venv],
    binds,
    env,
  });
  const args = await pipArguments(install, inputs);
  shop.say(`Installing dependencies as in ${install.file}`);
  await runCommand(shop, { what: "pip install", argv: [join(venv, "bin", "pip"), "install", ...args], binds, env });
  await writeFile(record, "", { flag: "wx" });
};

const aboutFiles = /^(-[a-z]|--(requirement|constraint|editable|find-links)|\.)|^[^-].*(\/|\.whl|\.zip|\.tar\.)/;

/**
 * True for a requirements.txt that names files of the source: by an option, by their path, or by what they are.
 * https://pip.pypa.io/en/stable/reference/requirements-file-format/
 */
export const namesFiles = (requirements: string): boolean =>
  requirements.split("\n").some((line) => aboutFiles.test(line.replace(/(^|\s)#.*/, "").trim()));

/** True where pip has nothing to do. */
const installsNothing = ({ file, project, requirements }: PythonInstall): boolean =>
  file !== "requirements.txt" && !project && requirements.length === 0;

/** What the environment depends on. A project that installs itself, or names files, depends on the whole source. */
const inputsOf = (shop: Workshop, install: PythonInstall): string => {
  if (install.file !== "requirements.txt") return JSON.stringify([install, install.project ? shop.app : ""]);
  const text = readText(join(shop.app, install.file));
  return JSON.stringify([text, namesFiles(text) ? shop.app : ""]);
};

/** Returns the folder with the environment; undefined if the source has no dependencies. */
const venvFor = async (
  shop: Workshop,
  python: PythonInterpreter,
  venvs: string,
  install: PythonInstall | undefined,
): Promise<string | undefined> => {
  if (install === undefined || installsNothing(install)) return undefined;
  const key = createHash("sha256")
    .update([LAYOUT, inputsOf(shop, install), python.executable, python.version].join("\0"))
    .digest("hex")
    .slice(0, 32);
  const folder = join(venvs, key);
  // Two sources that need the same environment make it once.
  await shop.turns.take(folder, shop.signal, async () => {
    if (requiredFiles(folder).every((path) => existsSync(path)))
      return shop.say(`Dependencies as in ${install.file}, installed before`);
    try {
      await makeVenv(shop, python, folder, install);
    } catch (error) {
      await removeTree(folder);
      throw error;
    }
  });
  return folder;
};

/** @param venvs the account's folder of virtual environments */
export const buildPython = async (
  shop: Workshop,
  venvs: string,
  { command, install }: PythonPlan,
): Promise<ImageManifest> => {
  const python = await findInterpreter(shop);
  const folder = await venvFor(shop, python, venvs, install);
  const home = folder === undefined ? python.prefix : layoutOf(folder).venv;
  return {
    kind: "python",
    command,
    path: [join(home, "bin")],
    needs: [...new Set([python.prefix, home])],
    requires: folder === undefined ? [] : requiredFiles(folder),
  };
};
