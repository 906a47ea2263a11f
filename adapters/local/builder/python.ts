/** Python sources: dependencies into a virtual environment that is cached by what it depends on. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
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

/** The files that say what is to be installed; none: nothing is. */
const requirementFiles = (app: string): string[] =>
  ["requirements.txt", "pyproject.toml"].filter((name) => existsSync(join(app, name)));

/** Changes when environments are laid out otherwise on disk. */
const LAYOUT = "2";

/** A folder with the environment in it. The record lies outside the environment, where no build command can write. */
const layoutOf = (folder: string) => ({ venv: join(folder, "env"), record: join(folder, "complete") });

/** What a usable environment has. The interpreter is a link, which an upgrade of the machine's Python can break. */
const requiredFiles = (folder: string): string[] => {
  const { venv, record } = layoutOf(folder);
  return [record, join(venv, "pyvenv.cfg"), join(venv, "bin", "python")];
};

/** Makes the virtual environment at its final place, because its scripts name their own path. */
const makeVenv = async (
  shop: Workshop,
  python: PythonInterpreter,
  folder: string,
  requirements: string,
): Promise<void> => {
  const { venv, record } = layoutOf(folder);
  await removeTree(folder);
  await mkdir(venv, { recursive: true });
  const binds = [{ host: venv, inside: venv, writable: true }, ...programBinds([python.prefix])];
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
  const what = requirements === "requirements.txt" ? ["-r", "requirements.txt"] : ["."];
  shop.say(`Installing dependencies as in ${requirements}`);
  await runCommand(shop, { what: "pip install", argv: [join(venv, "bin", "pip"), "install", ...what], binds, env });
  await writeFile(record, "", { flag: "wx" });
};

const aboutFiles = /^(-[a-z]|--(requirement|constraint|editable|find-links)|\.)|^[^-].*(\/|\.whl|\.zip|\.tar\.)/;

/**
 * True for a requirements.txt that names files of the source: by an option, by their path, or by what they are.
 * https://pip.pypa.io/en/stable/reference/requirements-file-format/
 */
export const namesFiles = (requirements: string): boolean =>
  requirements.split("\n").some((line) => aboutFiles.test(line.replace(/(^|\s)#.*/, "").trim()));

/** Returns the folder with the environment; undefined if the source has no dependencies. */
const venvFor = async (shop: Workshop, python: PythonInterpreter, venvs: string): Promise<string | undefined> => {
  const [requirements] = requirementFiles(shop.app);
  if (requirements === undefined) return undefined;
  const text = readText(join(shop.app, requirements));
  // A project that installs itself, or names files, depends on the whole source.
  const whole = requirements === "pyproject.toml" || namesFiles(text) ? shop.app : "";
  const key = createHash("sha256")
    .update([LAYOUT, text, python.executable, python.version, whole].join("\0"))
    .digest("hex")
    .slice(0, 32);
  const folder = join(venvs, key);
  // Two sources that need the same environment make it once.
  await shop.turns.take(folder, shop.signal, async () => {
    if (requiredFiles(folder).every((path) => existsSync(path)))
      return shop.say(`Dependencies as in ${requirements}, installed before`);
    try {
      await makeVenv(shop, python, folder, requirements);
    } catch (error) {
      await removeTree(folder);
      throw error;
    }
  });
  return folder;
};

const startCommand = (app: string): string => {
  const file = ["main.py", "app.py"].find((name) => existsSync(join(app, name)));
  return file === undefined
    ? fail("The source is Python, and nothing says how to start it: add a Procfile with 'web: COMMAND', or main.py.")
    : `exec python3 -u ${file}`;
};

/** @param venvs the account's folder of virtual environments */
export const buildPython = async (
  shop: Workshop,
  venvs: string,
  command: string | undefined,
): Promise<ImageManifest> => {
  const start = command ?? startCommand(shop.app);
  const python = await findInterpreter(shop);
  const folder = await venvFor(shop, python, venvs);
  const home = folder === undefined ? python.prefix : layoutOf(folder).venv;
  return {
    kind: "python",
    command: start,
    path: [join(home, "bin")],
    needs: [...new Set([python.prefix, home])],
    requires: folder === undefined ? [] : requiredFiles(folder),
  };
};
