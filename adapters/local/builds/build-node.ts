/**
 * Builds Node.js sources: installs the dependencies, from the lock file if there is one, runs the `build` and
 * `prestart` scripts, and fills Node's compile cache.
 */
import { existsSync } from "node:fs";
import { lstat, lutimes, mkdir, readdir, rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import semver from "semver";
import type { NodePackage, NodePlan } from "../../../core/domain/deploy/source/node-plan.ts";
import { measureTree } from "../tenant-files/measure-tree.ts";
import { readText } from "../tenant-files/read-text.ts";
import { removeTree } from "../tenant-files/remove-tree.ts";
import { cacheKey, type ImageManifest } from "./image-store.ts";
import { type BuildContext, BuildError, type Command, insidePaths, programBinds, runCommand } from "./run-command.ts";

const fail = (message: string): never => {
  throw new BuildError({ reason: "build_failed", message });
};

const engineWarning = (manifest: NodePackage): string | undefined => {
  const range = manifest.engines?.["node"];
  if (range === undefined || semver.validRange(range) === null || semver.satisfies(process.version, range))
    return undefined;
  return `warning: package.json requires Node ${range}; this platform runs ${process.version}`;
};

const npm = (context: BuildContext, what: string, args: readonly string[]): Command => {
  const script = context.toolchain.npm;
  if (script === undefined)
    return fail(
      "The source has dependencies, but npm is not installed on the platform's machine. Install npm and deploy again.",
    );
  return {
    what,
    argv: [context.toolchain.node, script, ...args],
    env: {
      npm_config_cache: join(insidePaths(context).cache, "npm"),
      npm_config_update_notifier: "false",
      npm_config_fund: "false",
      npm_config_audit: "false",
      npm_config_progress: "false",
    },
    binds: programBinds([dirname(dirname(script))]),
  };
};

/**
 * Scripts that run during the installation. They may read the source, so a source with such a script cannot share its
 * installed dependencies.
 */
const installScripts = ["preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"];

/**
 * Returns the cache key of the installed dependencies; undefined if they may also depend on other files of the source.
 */
const dependencyKey = (
  context: BuildContext,
  manifest: NodePackage,
  lock: string,
  args: readonly string[],
): string | undefined => {
  const text = readText(join(context.app, lock));
  const settings = join(context.app, ".npmrc");
  const local = manifest.workspaces !== undefined || text.includes('"link": true') || text.includes('"file:');
  if (local || installScripts.some((name) => manifest.scripts?.[name] !== undefined)) return undefined;
  return cacheKey([
    text,
    JSON.stringify([manifest.dependencies, manifest.devDependencies, manifest.optionalDependencies]),
    existsSync(settings) ? readText(settings) : "",
    process.version,
    process.arch,
    context.runner.kind,
    ...args,
  ]);
};

/** The suffix of a folder with an unfinished copy of dependencies. */
export const PARTIAL_SUFFIX = ".partial";
const MAX_CACHED = 5;
/** A build may still be copying from a folder that was used within this time. */
const IN_USE_MS = 60 * 60_000;

const removeOldDependencies = async (kept: string): Promise<void> => {
  const dated = async (name: string) => ({ name, at: (await lstat(join(kept, name))).mtimeMs });
  const all = await Promise.all((await readdir(kept)).map(dated));
  const spare = all.sort((a, b) => b.at - a.at).slice(MAX_CACHED);
  for (const { name, at } of spare) if (Date.now() - at > IN_USE_MS) await removeTree(join(kept, name));
};

/** The path of cached dependencies in the sandbox. */
const CACHED_DEPENDENCIES = "/dependencies";

/** Copies within the sandbox, where symbolic links and special files in the tree cannot affect this machine. */
const copyInSandbox = (
  context: BuildContext,
  kept: string,
  writable: boolean,
  paths: (kept: string) => [string, string],
) => {
  const inside = context.runner.mapsPaths ? CACHED_DEPENDENCIES : kept;
  return runCommand(
    { ...context, print: () => undefined },
    {
      what: "Copying dependencies",
      argv: ["cp", "-a", ...paths(inside)],
      binds: [{ host: kept, inside, writable }],
    },
  );
};

/** Adds the tree's size to the folder's name, so the next build detects removed or truncated files. */
const cacheFolderName = async (folder: string, tree: string): Promise<string> => {
  const { entries, bytes } = await measureTree(tree);
  return `${folder}.${entries}-${bytes}`;
};

/** Returns the folder of the cached dependencies. Removes a folder whose content has changed. */
const findCached = async (folder: string): Promise<string | undefined> => {
  const names = await readdir(dirname(folder)).catch(() => []);
  for (const name of names) {
    if (!name.startsWith(`${basename(folder)}.`) || name.endsWith(PARTIAL_SUFFIX)) continue;
    const path = join(dirname(folder), name);
    if (path === (await cacheFolderName(folder, path))) return path;
    await removeTree(path);
  }
  return undefined;
};

/** Copies the installed dependencies to the cache. Ignores failures, because this build does not need the cache. */
const cacheDependencies = async (context: BuildContext, folder: string): Promise<void> => {
  const partial = `${folder}${PARTIAL_SUFFIX}`;
  const source = join(insidePaths(context).app, "node_modules");
  try {
    await removeTree(partial);
    await mkdir(partial, { recursive: true });
    await copyInSandbox(context, partial, true, (inside) => [`${source}/.`, inside]);
    await rename(partial, await cacheFolderName(folder, partial));
    await removeOldDependencies(dirname(folder));
  } catch {
    await removeTree(partial);
  }
};

/** Returns npm's arguments to run a program with the package manager in its PATH. npm downloads the package manager. */
const npmExec = (manager: string): string[] => ["exec", "--yes", `--package=${manager}`, "--"];

/** Returns a command of the package manager that wrote the lock file. */
const packageManager = (context: BuildContext, manager: string, args: readonly string[]): Command => {
  const program = manager.startsWith("pnpm") ? "pnpm" : "yarn";
  const command = npm(context, `${program} ${args[0]}`, [...npmExec(manager), program, ...args]);
  // Yarn's default (Plug'n'Play) would need a loader in front of every program.
  const yarn = { YARN_NODE_LINKER: "node-modules", YARN_ENABLE_TELEMETRY: "0" };
  const registry = context.network["npm_config_registry"] ?? context.network["NPM_CONFIG_REGISTRY"];
  const from = registry === undefined ? {} : { YARN_NPM_REGISTRY_SERVER: registry };
  return { ...command, env: { ...command.env, ...yarn, ...from } };
};

/** Returns the package manager's arguments for an installation that must match the lock file. */
const installArguments = (manager: string, forBuild: boolean): string[] => {
  if (manager.startsWith("@yarnpkg/")) return ["install", "--immutable"];
  const isPnpm = manager.startsWith("pnpm");
  // With hard links to the account's cache, a later build could change the files of this image.
  const copies = isPnpm ? ["--package-import-method=copy"] : [];
  return ["install", "--frozen-lockfile", ...copies, ...(forBuild ? [] : [isPnpm ? "--prod" : "--production"])];
};

const install = async (
  context: BuildContext,
  { manifest, lock, manager }: NodePlan,
  forBuild: boolean,
): Promise<void> => {
  const omit = forBuild ? [] : ["--omit=dev"];
  if (lock === undefined)
    return runCommand(context, npm(context, "npm install", ["install", "--no-package-lock", ...omit]));
  if (manager !== undefined) {
    context.say(`Installing dependencies from ${lock} with ${manager}`);
    return runCommand(context, packageManager(context, manager, installArguments(manager, forBuild)));
  }
  const key = dependencyKey(context, manifest, lock, omit);
  const installNow = () => {
    context.say(`Installing dependencies from ${lock}`);
    return runCommand(context, npm(context, "npm ci", ["ci", ...omit]));
  };
  if (key === undefined) return installNow();
  // The sandbox hides this folder from the scripts of a build, so they cannot change another build's dependencies.
  const folder = join(context.cache, "..", "node_modules", key);
  await context.mutex.take(folder, context.signal, async () => {
    const kept = await findCached(folder);
    if (kept !== undefined) {
      context.say(`Using cached dependencies for ${lock}`);
      await lutimes(kept, new Date(), new Date());
      const into = join(insidePaths(context).app, "node_modules");
      return copyInSandbox(context, kept, false, (inside) => [inside, into]);
    }
    await installNow();
    await cacheDependencies(context, folder);
  });
};

/** The folder of Node's compile cache in the source. https://nodejs.org/api/module.html#module-compile-cache */
export const COMPILE_CACHE = join("node_modules", ".compile-cache");
const COMPILE_MS = 10_000;

/**
 * Returns a script that imports the packages named by its arguments. The script removes the arguments first, because a
 * package may be a program that reads them. It writes the cache after each package, because the next one may end the
 * process.
 */
const compileScript = (importCall: string): string => `(async () => {
  for (const name of process.argv.splice(1)) {
    try { ${importCall}; } catch {}
    require("node:module").flushCompileCache();
  }
  process.exit();
})();`;

/**
 * Fills the compile cache, so that the service starts faster. Imports only installed packages, because importing the
 * service would run it. Node's permission model prevents packages from changing other files and from starting programs.
 * Ignores failed imports, because a service can start without the cache.
 */
const compile = async (context: BuildContext, { manifest, packages }: NodePlan): Promise<void> => {
  context.say("Compiling the dependencies for faster starts");
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(COMPILE_MS)]);
  const cache = join(insidePaths(context).app, COMPILE_CACHE);
  const permissions = ["--permission", "--allow-fs-read=*", `--allow-fs-write=${join(cache, "*")}`];
  // A package can have both an ES module and a CommonJS module. Compile the one that the service loads.
  const script = compileScript(manifest.type === "module" ? "await import(name)" : "require(name)");
  const command: Command = {
    what: "Compiling dependencies",
    argv: [context.toolchain.node, ...permissions, "--input-type=commonjs", "--eval", script, "--", ...packages],
    env: { NODE_ENV: "production", NODE_COMPILE_CACHE: cache },
  };
  try {
    await runCommand({ ...context, print: () => undefined, signal }, command);
  } catch (error) {
    context.signal.throwIfAborted();
    if (!(error instanceof BuildError) && !signal.aborted) throw error;
  }
};

export const buildNode = async (context: BuildContext, plan: NodePlan): Promise<ImageManifest> => {
  const { manifest, buildScripts, installs, main, manager } = plan;
  const warning = engineWarning(manifest);
  if (warning !== undefined) context.say(warning);
  const { devDependencies = {} } = manifest;
  await removeTree(join(context.app, "node_modules"));
  if (installs) await install(context, plan, buildScripts.length > 0);
  for (const script of buildScripts) {
    context.say(`Running the ${script} script`);
    // Scripts may call the package manager.
    const through = manager === undefined ? [] : [...npmExec(manager), "npm"];
    await runCommand(context, npm(context, `The ${script} script`, [...through, "run", script]));
  }
  if (installs && manager === undefined && buildScripts.length > 0 && Object.keys(devDependencies).length > 0)
    await runCommand(context, npm(context, "npm prune", ["prune", "--omit=dev", "--no-package-lock"]));
  if (main !== undefined && !existsSync(join(context.app, main)) && !existsSync(join(context.app, `${main}.js`)))
    fail(`The file '${main}', which package.json names as main, does not exist. Add it or correct main.`);
  const compiled = installs && plan.packages.length > 0;
  if (compiled) await compile(context, plan);
  return { kind: "node", command: plan.command, path: [], needs: [], requires: [], compiled };
};
