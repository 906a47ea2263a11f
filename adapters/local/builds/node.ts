/** Node sources: dependencies by the lock file, `build` and `prestart` at build, `start` or `main` at run. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { lstat, lutimes, mkdir, readdir, rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import semver from "semver";
import type { NodePackage, NodePlan } from "../../../core/domain/deploy/source/node-plan.ts";
import { measureTree } from "../tenant-files/measure-tree.ts";
import { readText } from "../tenant-files/read-text.ts";
import { removeTree } from "../tenant-files/remove-tree.ts";
import type { ImageManifest } from "./images.ts";
import { BuildFailed, type Command, insidePaths, programBinds, runCommand, type Workshop } from "./steps.ts";

const fail = (message: string): never => {
  throw new BuildFailed({ reason: "build_failed", message });
};

const engineWarning = (manifest: NodePackage): string | undefined => {
  const range = manifest.engines?.["node"];
  if (range === undefined || semver.validRange(range) === null || semver.satisfies(process.version, range))
    return undefined;
  return `warning: package.json asks for Node ${range}; this platform runs ${process.version}`;
};

const npm = (shop: Workshop, what: string, args: readonly string[]): Command => {
  const script = shop.toolchain.npm;
  if (script === undefined)
    return fail(
      "The source has dependencies, and this machine has no npm to install them with; install npm and deploy again.",
    );
  return {
    what,
    argv: [shop.toolchain.node, script, ...args],
    env: {
      npm_config_cache: join(insidePaths(shop).cache, "npm"),
      npm_config_update_notifier: "false",
      npm_config_fund: "false",
      npm_config_audit: "false",
      npm_config_progress: "false",
    },
    binds: programBinds([dirname(dirname(script))]),
  };
};

/** Scripts that run while dependencies are installed may read the source, so what they leave is not kept for others. */
const installScripts = ["preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"];

/** What installed dependencies depend on, or undefined where they may depend on more than can be told. */
const dependencyKey = (
  shop: Workshop,
  manifest: NodePackage,
  lock: string,
  args: readonly string[],
): string | undefined => {
  const text = readText(join(shop.app, lock));
  const settings = join(shop.app, ".npmrc");
  const local = manifest.workspaces !== undefined || text.includes('"link": true') || text.includes('"file:');
  if (local || installScripts.some((name) => manifest.scripts?.[name] !== undefined)) return undefined;
  const parts = [
    text,
    JSON.stringify([manifest.dependencies, manifest.devDependencies, manifest.optionalDependencies]),
    existsSync(settings) ? readText(settings) : "",
    process.version,
    process.arch,
    shop.runner.kind,
    ...args,
  ];
  return createHash("sha256").update(parts.join("\0")).digest("hex").slice(0, 32);
};

/** Ends the name of kept dependencies that are not whole yet. */
export const HALF = ".partial";
const KEPT_DEPENDENCIES = 5;
/** Another build may be copying what was used lately. */
const IN_USE_MS = 60 * 60_000;

const dropOldDependencies = async (kept: string): Promise<void> => {
  const dated = async (name: string) => ({ name, at: (await lstat(join(kept, name))).mtimeMs });
  const all = await Promise.all((await readdir(kept)).map(dated));
  const spare = all.sort((a, b) => b.at - a.at).slice(KEPT_DEPENDENCIES);
  for (const { name, at } of spare) if (Date.now() - at > IN_USE_MS) await removeTree(join(kept, name));
};

/** Where commands see kept dependencies, if they do not see host paths. */
const KEPT = "/dependencies";

/** Copies within the sandbox: whatever links and pipes the tree has, they lead to nothing of the host. */
const copyInside = (shop: Workshop, kept: string, writable: boolean, paths: (kept: string) => [string, string]) => {
  const inside = shop.runner.mapsPaths ? KEPT : kept;
  return runCommand(
    { ...shop, print: () => undefined },
    {
      what: "Copying dependencies",
      argv: ["cp", "-a", ...paths(inside)],
      binds: [{ host: kept, inside, writable }],
    },
  );
};

/** Says how much was kept, so that the next build notices what was removed or emptied meanwhile. */
const keptFolder = async (folder: string, tree: string): Promise<string> => {
  const { entries, bytes } = await measureTree(tree);
  return `${folder}.${entries}-${bytes}`;
};

/** Dependencies that were kept and are as they were. Removes others. */
const findKept = async (folder: string): Promise<string | undefined> => {
  const names = await readdir(dirname(folder)).catch(() => []);
  for (const name of names) {
    if (!name.startsWith(`${basename(folder)}.`) || name.endsWith(HALF)) continue;
    const path = join(dirname(folder), name);
    if (path === (await keptFolder(folder, path))) return path;
    await removeTree(path);
  }
  return undefined;
};

/** Keeping is for the next build's sake; where it cannot be done, this one is as good. */
const keepDependencies = async (shop: Workshop, folder: string): Promise<void> => {
  const partial = `${folder}${HALF}`;
  const source = join(insidePaths(shop).app, "node_modules");
  try {
    await removeTree(partial);
    await mkdir(partial, { recursive: true });
    await copyInside(shop, partial, true, (inside) => [`${source}/.`, inside]);
    await rename(partial, await keptFolder(folder, partial));
    await dropOldDependencies(dirname(folder));
  } catch {
    await removeTree(partial);
  }
};

/** A command line of the package manager that reads the lock file, which npm fetches. */
const foreign = (shop: Workshop, manager: string, args: readonly string[]): Command => {
  const program = manager.startsWith("pnpm") ? "pnpm" : "yarn";
  const command = npm(shop, `${program} ${args[0]}`, ["exec", "--yes", `--package=${manager}`, "--", program, ...args]);
  // Node finds packages in a folder; Yarn's own way needs a loader in front of every program.
  const yarn = { YARN_NODE_LINKER: "node-modules", YARN_ENABLE_TELEMETRY: "0" };
  const registry = shop.network["npm_config_registry"] ?? shop.network["NPM_CONFIG_REGISTRY"];
  const from = registry === undefined ? {} : { YARN_NPM_REGISTRY_SERVER: registry };
  return { ...command, env: { ...command.env, ...yarn, ...from } };
};

/** What the package manager calls an installation as the lock file says. */
const foreignInstall = (manager: string, forBuild: boolean): string[] => {
  if (manager.startsWith("@yarnpkg/")) return ["install", "--immutable"];
  const isPnpm = manager.startsWith("pnpm");
  // A link to the account's cache would let a later build change this one.
  const copies = isPnpm ? ["--package-import-method=copy"] : [];
  return ["install", "--frozen-lockfile", ...copies, ...(forBuild ? [] : [isPnpm ? "--prod" : "--production"])];
};

const install = async (shop: Workshop, { manifest, lock, manager }: NodePlan, forBuild: boolean): Promise<void> => {
  const omit = forBuild ? [] : ["--omit=dev"];
  if (lock === undefined) return runCommand(shop, npm(shop, "npm install", ["install", "--no-package-lock", ...omit]));
  if (manager !== undefined) {
    shop.say(`Installing dependencies as in ${lock}, with ${manager}`);
    return runCommand(shop, foreign(shop, manager, foreignInstall(manager, forBuild)));
  }
  const key = dependencyKey(shop, manifest, lock, omit);
  const installNow = () => {
    shop.say(`Installing dependencies as in ${lock}`);
    return runCommand(shop, npm(shop, "npm ci", ["ci", ...omit]));
  };
  if (key === undefined) return installNow();
  // Beside the folder that commands can write to, so that a build cannot change what another one gets.
  const folder = join(shop.cache, "..", "node_modules", key);
  await shop.turns.take(folder, shop.signal, async () => {
    const kept = await findKept(folder);
    if (kept !== undefined) {
      shop.say(`Dependencies as in ${lock}, installed before`);
      await lutimes(kept, new Date(), new Date());
      const into = join(insidePaths(shop).app, "node_modules");
      return copyInside(shop, kept, false, (inside) => [inside, into]);
    }
    await installNow();
    await keepDependencies(shop, folder);
  });
};

export const buildNode = async (shop: Workshop, plan: NodePlan): Promise<ImageManifest> => {
  const { manifest, buildScripts, installs, main, manager } = plan;
  const warning = engineWarning(manifest);
  if (warning !== undefined) shop.say(warning);
  const { devDependencies = {} } = manifest;
  await removeTree(join(shop.app, "node_modules"));
  if (installs) await install(shop, plan, buildScripts.length > 0);
  for (const script of buildScripts) {
    shop.say(`Running the ${script} script`);
    // Scripts may call the package manager themselves.
    const through = manager === undefined ? [] : ["exec", "--yes", `--package=${manager}`, "--", "npm"];
    await runCommand(shop, npm(shop, `The ${script} script`, [...through, "run", script]));
  }
  if (installs && manager === undefined && buildScripts.length > 0 && Object.keys(devDependencies).length > 0)
    await runCommand(shop, npm(shop, "npm prune", ["prune", "--omit=dev", "--no-package-lock"]));
  if (main !== undefined && !existsSync(join(shop.app, main)) && !existsSync(join(shop.app, `${main}.js`)))
    fail(`package.json names '${main}' as main, and the source has no such file.`);
  return { kind: "node", command: plan.command, path: [], needs: [], requires: [] };
};
