/** Node sources: dependencies by the lock file, `build` and `prestart` at build, `start` or `main` at run. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { lstat, lutimes, mkdir, readdir, rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import semver from "semver";
import { z } from "zod";
import { measureTree } from "../tenant-files/measure-tree.ts";
import { readText } from "../tenant-files/read-text.ts";
import { removeTree } from "../tenant-files/remove-tree.ts";
import type { ImageManifest } from "./images.ts";
import { BuildFailed, type Command, insidePaths, programBinds, runCommand, type Workshop } from "./steps.ts";

const textMap = z.record(z.string(), z.string()).catch({});

const packageSchema = z.object({
  main: z.string().optional().catch(undefined),
  scripts: textMap.optional(),
  engines: textMap.optional(),
  dependencies: textMap.optional(),
  devDependencies: textMap.optional(),
  optionalDependencies: textMap.optional(),
  workspaces: z.unknown().optional(),
});

type Package = z.output<typeof packageSchema>;

const fail = (message: string): never => {
  throw new BuildFailed({ reason: "build_failed", message });
};

const readPackage = (app: string): Package => {
  let raw: unknown;
  try {
    raw = JSON.parse(readText(join(app, "package.json")));
  } catch (error) {
    return fail(`package.json is not valid JSON: ${(error as Error).message}`);
  }
  const parsed = packageSchema.safeParse(raw);
  return parsed.success ? parsed.data : fail("package.json is not an object with the usual fields.");
};

const LOCKS = ["npm-shrinkwrap.json", "package-lock.json"];
const FOREIGN_LOCKS = ["yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb"];

const startCommand = (app: string, manifest: Package): string => {
  if (manifest.scripts?.["start"] !== undefined) return manifest.scripts["start"];
  const main = manifest.main ?? (existsSync(join(app, "server.js")) ? "server.js" : undefined);
  if (main === undefined)
    return fail(
      'package.json says neither how to start (scripts.start) nor what (main); add "start": "node server.js".',
    );
  if (!existsSync(join(app, main)) && !existsSync(join(app, `${main}.js`)))
    return fail(`package.json names '${main}' as main, and the source has no such file.`);
  return `exec node '${main.replaceAll("'", "'\\''")}'`;
};

const engineWarning = (manifest: Package): string | undefined => {
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
  manifest: Package,
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

const install = async (shop: Workshop, manifest: Package, forBuild: boolean): Promise<void> => {
  const lock = LOCKS.find((name) => existsSync(join(shop.app, name)));
  const omit = forBuild ? [] : ["--omit=dev"];
  if (lock === undefined) {
    const foreign = FOREIGN_LOCKS.find((name) => existsSync(join(shop.app, name)));
    shop.say(
      foreign === undefined
        ? "warning: no package-lock.json; versions are whatever is newest today"
        : `warning: ${foreign} is not read, npm installs here; versions may differ`,
    );
    return runCommand(shop, npm(shop, "npm install", ["install", "--no-package-lock", ...omit]));
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

/** @param procfile the Procfile's command, which goes before what package.json says */
export const buildNode = async (shop: Workshop, procfile: string | undefined): Promise<ImageManifest> => {
  const manifest = readPackage(shop.app);
  const command = procfile ?? startCommand(shop.app, manifest);
  const warning = engineWarning(manifest);
  if (warning !== undefined) shop.say(warning);
  const scripts = ["build", "prestart"].filter((name) => manifest.scripts?.[name] !== undefined);
  const { dependencies = {}, optionalDependencies = {}, devDependencies = {} } = manifest;
  const needed = { ...dependencies, ...optionalDependencies, ...(scripts.length > 0 ? devDependencies : {}) };
  const installs = Object.keys(needed).length > 0 || manifest.workspaces !== undefined;
  await removeTree(join(shop.app, "node_modules"));
  if (installs) await install(shop, manifest, scripts.length > 0);
  for (const script of scripts) {
    shop.say(`Running the ${script} script`);
    await runCommand(shop, npm(shop, `The ${script} script`, ["run", script]));
  }
  if (installs && scripts.length > 0 && Object.keys(devDependencies).length > 0)
    await runCommand(shop, npm(shop, "npm prune", ["prune", "--omit=dev", "--no-package-lock"]));
  return { kind: "node", command, path: [], needs: [], requires: [] };
};
