/** Node sources: dependencies by the lock file, `build` and `prestart` at build, `start` or `main` at run. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { cp, mkdir, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import semver from "semver";
import { z } from "zod";
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
    raw = JSON.parse(readFileSync(join(app, "package.json"), "utf8"));
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
  const text = readFileSync(join(shop.app, lock), "utf8");
  const local = manifest.workspaces !== undefined || text.includes('"link": true') || text.includes('"file:');
  if (local || installScripts.some((name) => manifest.scripts?.[name] !== undefined)) return undefined;
  const parts = [text, process.version, process.arch, shop.runner.kind, ...args];
  return createHash("sha256").update(parts.join("\0")).digest("hex").slice(0, 32);
};

const KEPT_DEPENDENCIES = 5;

const keepDependencies = async (from: string, kept: string, key: string): Promise<void> => {
  const partial = join(kept, `${key}.partial`);
  await rm(partial, { recursive: true, force: true });
  await cp(from, partial, { recursive: true, verbatimSymlinks: true });
  await rename(partial, join(kept, key));
  const all = await Promise.all(
    (await readdir(kept)).map(async (name) => ({ name, at: (await stat(join(kept, name))).mtimeMs })),
  );
  for (const { name } of all.sort((a, b) => b.at - a.at).slice(KEPT_DEPENDENCIES))
    await rm(join(kept, name), { recursive: true, force: true });
};

const install = async (shop: Workshop, manifest: Package, forBuild: boolean): Promise<void> => {
  const lock = LOCKS.find((name) => existsSync(join(shop.app, name)));
  const omit = forBuild ? [] : ["--omit=dev"];
  const target = join(shop.app, "node_modules");
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
  // Beside the folder that commands can write to, so that a build cannot change what another one gets.
  const kept = join(shop.cache, "..", "node_modules");
  if (key !== undefined && existsSync(join(kept, key))) {
    shop.say(`Dependencies as in ${lock}, installed before`);
    await cp(join(kept, key), target, { recursive: true, verbatimSymlinks: true });
    return utimes(join(kept, key), new Date(), new Date());
  }
  shop.say(`Installing dependencies as in ${lock}`);
  await runCommand(shop, npm(shop, "npm ci", ["ci", ...omit]));
  if (key === undefined || !existsSync(target)) return;
  await mkdir(kept, { recursive: true });
  await keepDependencies(target, kept, key);
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
  await rm(join(shop.app, "node_modules"), { recursive: true, force: true });
  if (installs) await install(shop, manifest, scripts.length > 0);
  for (const script of scripts) {
    shop.say(`Running the ${script} script`);
    await runCommand(shop, npm(shop, `The ${script} script`, ["run", script]));
  }
  if (installs && scripts.length > 0 && Object.keys(devDependencies).length > 0)
    await runCommand(shop, npm(shop, "npm prune", ["prune", "--omit=dev", "--no-package-lock"]));
  return { kind: "node", command, path: [], needs: [] };
};
