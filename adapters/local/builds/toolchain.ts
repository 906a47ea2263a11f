/** Finds the programs for builds and services: the platform's own Node.js, and the machine's npm and Python. */
import { execFile } from "node:child_process";
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  realpathSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { quoteForShell } from "../../../core/domain/deploy/source/quote-for-shell.ts";
import { tryOr } from "../../shared/runtime/try-or.ts";

export interface Toolchain {
  /** The platform's own Node.js. */
  readonly node: string;
  /** The path of npm's script, which the platform's Node.js runs; undefined if npm is not installed. */
  readonly npm: string | undefined;
  /** A folder with `npm` and `npx` for scripts that call them. */
  readonly shims: string;
  /** The path of `python3`; undefined if it is not installed. */
  readonly python: string | undefined;
}

const onPath = (program: string, path: string): string | undefined =>
  path
    .split(delimiter)
    .map((folder) => join(folder, program))
    .find((file) =>
      tryOr(() => {
        accessSync(file, constants.X_OK);
        return true;
      }, false),
    );

const findNpm = (path: string, running: string | undefined): string | undefined => {
  const found = onPath("npm", path);
  const candidates = [running, found === undefined ? undefined : realpathSync(found)];
  return candidates.find((file) => file?.endsWith("npm-cli.js") && existsSync(file));
};

const shim = (node: string, script: string): string =>
  `#!/bin/sh\nexec ${quoteForShell(node)} ${quoteForShell(script)} "$@"\n`;

/**
 * @param folder the folder for `npm` and `npx` (`shims`)
 * @param environment the server's environment
 */
export const findToolchain = (folder: string, environment: NodeJS.ProcessEnv): Toolchain => {
  const path = environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin";
  const node = process.execPath;
  const npm = findNpm(path, environment["npm_execpath"]);
  mkdirSync(folder, { recursive: true });
  // The users of accounts must be able to run these programs, regardless of the umask.
  chmodSync(folder, 0o755);
  const scripts = npm === undefined ? {} : { npm, npx: join(dirname(npm), "npx-cli.js") };
  for (const [name, script] of Object.entries(scripts)) {
    // Replaces the file atomically, because running services may call the previous file.
    const file = join(folder, name);
    const made = `${file}.${process.pid}`;
    writeFileSync(made, shim(node, script));
    chmodSync(made, 0o755);
    renameSync(made, file);
  }
  return { node, npm, shims: folder, python: onPath("python3", path) };
};

export interface PythonInterpreter {
  readonly executable: string;
  /** The folder of the interpreter's installation. */
  readonly prefix: string;
  readonly version: string;
}

/** Runs an interpreter to find its installation, because `python` may be the shim of a version manager. */
export const inspectPython = async (python: string): Promise<PythonInterpreter | undefined> => {
  const script =
    "import sys,os,platform;print(os.path.realpath(sys.executable));print(sys.base_prefix);print(platform.python_version())";
  try {
    const { stdout } = await promisify(execFile)(python, ["-c", script], { timeout: 20_000 });
    const [executable, prefix, version] = stdout.trim().split("\n");
    return executable === undefined || prefix === undefined || version === undefined
      ? undefined
      : { executable, prefix, version };
  } catch {
    // The program is missing, does not end in time, or is not Python.
    return undefined;
  }
};

/** Variables of the server's environment that builds need to reach registries. Every build can read their values. */
const networkVariables = {
  proxies: ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"],
  certificates: ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "PIP_CERT"],
  registries: ["PIP_INDEX_URL", "npm_config_registry", "npm_config_cafile", "NPM_CONFIG_REGISTRY", "NPM_CONFIG_CAFILE"],
};

export const networkEnvironment = (environment: NodeJS.ProcessEnv): Record<string, string> =>
  Object.fromEntries(
    Object.values(networkVariables)
      .flat()
      .flatMap((name) => {
        const value = environment[name];
        return value === undefined || value === "" ? [] : [[name, value]];
      }),
  );
