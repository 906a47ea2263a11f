/** Chooses the start command and the package manager of a Node source. Pure. */
import { z } from "zod";
import { archiveLimits } from "../../accounts/limits.ts";
import { type SourceFiles, SourcePlanError } from "./files.ts";
import { quoteForShell } from "./quote-for-shell.ts";

const textMap = z.record(z.string(), z.string()).catch({});

const packageSchema = z.object({
  main: z.string().max(archiveLimits.pathBytes).optional().catch(undefined),
  type: z.string().optional().catch(undefined),
  packageManager: z.string().optional().catch(undefined),
  scripts: textMap.optional(),
  engines: textMap.optional(),
  dependencies: textMap.optional(),
  devDependencies: textMap.optional(),
  optionalDependencies: textMap.optional(),
  workspaces: z.unknown().optional(),
});

export type NodePackage = z.output<typeof packageSchema>;

export type NodeLock = "npm-shrinkwrap.json" | "package-lock.json" | "pnpm-lock.yaml" | "yarn.lock";

export interface NodePlan {
  readonly kind: "node";
  readonly command: string;
  /** The origin of the command. */
  readonly startedBy: "procfile" | "script" | "file";
  /** The file that must exist after the build; undefined if the command comes from a Procfile or a script. */
  readonly main: string | undefined;
  readonly manifest: NodePackage;
  /** The scripts that a build runs, in order. */
  readonly buildScripts: readonly string[];
  /** True if the build installs packages. Development dependencies count only if there are build scripts. */
  readonly installs: boolean;
  /** The dependencies that are not part of the source. The build can import them without running the source's code. */
  readonly packages: readonly string[];
  readonly lock: NodeLock | undefined;
  /** The npm package and version of the package manager that reads the lock file; undefined for npm. */
  readonly manager: string | undefined;
  readonly warnings: readonly string[];
}

const fail = (message: string): never => {
  throw new SourcePlanError(message, "build_failed");
};

export const readPackage = (text: string | undefined): NodePackage => {
  if (text === undefined) return fail("package.json is too large to read. Make it smaller.");
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch (error) {
    return fail(`package.json is not valid JSON: ${(error as Error).message}`);
  }
  const parsed = packageSchema.safeParse(raw);
  return parsed.success ? parsed.data : fail("package.json is not a valid package manifest.");
};

const mainOf = ({ main }: NodePackage, { paths }: SourceFiles): string | undefined =>
  main ?? (paths.has("server.js") ? "server.js" : undefined);

/**
 * Returns whether the source has a start script or a main file. A source that uses package.json only for tools has
 * neither.
 */
export const hasStartCommand = (manifest: NodePackage, files: SourceFiles): boolean =>
  manifest.scripts?.["start"] !== undefined || mainOf(manifest, files) !== undefined;

const noStartCommand = ({ workspaces, scripts }: NodePackage, { paths }: SourceFiles): never => {
  if (workspaces !== undefined || paths.has("pnpm-workspace.yaml"))
    return fail(
      'The source has workspaces, but package.json has no start script (scripts.start) that selects one. Add "start": "npm start --workspace NAME", or a Procfile with \'web: npm start --workspace NAME\'.',
    );
  if (scripts?.["build"] !== undefined && paths.has("index.html"))
    return fail(
      'package.json has a build script, but no script that serves the built folder (scripts.start). Deploy that folder as a static site, or add a "start" script that serves it on PORT.',
    );
  return fail(
    'package.json has neither a start script (scripts.start) nor a main file (main). Add "start": "node server.js", or a Procfile with \'web: COMMAND\'.',
  );
};

/** For each lock file, a package manager that reads its format. package.json may select a different version. */
const managers: Readonly<Partial<Record<NodeLock, (lock: string) => string>>> = {
  "pnpm-lock.yaml": (lock) => {
    const version = /^lockfileVersion: '?([0-9]+)/.exec(lock.slice(0, 100))?.[1];
    return version === undefined || Number(version) >= 9 ? "pnpm@10" : version === "6" ? "pnpm@8" : "pnpm@7";
  },
  "yarn.lock": (lock) => (lock.slice(0, 300).includes("yarn lockfile v1") ? "yarn@1" : "@yarnpkg/cli-dist@4"),
};

const NAMED_MANAGER = /^(pnpm|yarn)@([0-9]+\.[0-9]+\.[0-9]+(?:-[0-9a-z.]+)?)/;

const managerOf = (lock: NodeLock | undefined, { packageManager }: NodePackage, { texts }: SourceFiles) => {
  const fromLock = lock === undefined ? undefined : managers[lock]?.(texts.get(lock) ?? "");
  if (lock === undefined || fromLock === undefined) return undefined;
  const [, name = "", version = ""] = NAMED_MANAGER.exec(packageManager ?? "") ?? [];
  if (!lock.startsWith(name) || name === "") return fromLock;
  // The npm package `yarn` stops at version 1. Later versions are in `@yarnpkg/cli-dist`.
  return name === "yarn" && !version.startsWith("1.") ? `@yarnpkg/cli-dist@${version}` : `${name}@${version}`;
};

const LOCKS: readonly NodeLock[] = ["npm-shrinkwrap.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock"];
const UNREAD_LOCKS = ["bun.lock", "bun.lockb"];

const lockWarning = ({ paths }: SourceFiles): string => {
  const unread = UNREAD_LOCKS.find((name) => paths.has(name));
  return unread === undefined
    ? "warning: no package-lock.json; npm installs the newest matching versions"
    : `warning: ${unread} is not supported; npm installs the packages, and versions may differ`;
};

/** Matches a dependency on a folder or archive of the source. */
const LOCAL_DEPENDENCY = /^((file|link|portal|workspace):|\.|~?\/)/;

/** In a workspace project, any dependency may be part of the source. */
const packagesOf = ({ dependencies = {}, workspaces }: NodePackage, { paths }: SourceFiles): string[] =>
  workspaces !== undefined || paths.has("pnpm-workspace.yaml")
    ? []
    : Object.keys(dependencies).filter((name) => !LOCAL_DEPENDENCY.test(dependencies[name] ?? ""));

/** @param procfile the Procfile's command, which takes precedence over package.json */
export const planNode = (files: SourceFiles, manifest: NodePackage, procfile: string | undefined): NodePlan => {
  const script = manifest.scripts?.["start"];
  const main = procfile === undefined && script === undefined ? mainOf(manifest, files) : undefined;
  const command =
    procfile ?? script ?? (main === undefined ? noStartCommand(manifest, files) : `exec node ${quoteForShell(main)}`);
  const lock = LOCKS.find((name) => files.paths.has(name));
  const buildScripts = ["build", "prestart"].filter((name) => manifest.scripts?.[name] !== undefined);
  const { dependencies, optionalDependencies, devDependencies, workspaces } = manifest;
  const needed = { ...dependencies, ...optionalDependencies, ...(buildScripts.length > 0 ? devDependencies : {}) };
  const installs = Object.keys(needed).length > 0 || workspaces !== undefined;
  return {
    kind: "node",
    command,
    startedBy: procfile !== undefined ? "procfile" : script !== undefined ? "script" : "file",
    main,
    manifest,
    buildScripts,
    installs,
    packages: packagesOf(manifest, files),
    lock,
    manager: managerOf(lock, manifest, files),
    warnings: installs && lock === undefined ? [lockWarning(files)] : [],
  };
};
