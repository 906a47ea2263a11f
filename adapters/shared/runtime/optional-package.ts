/** Optional peer dependencies: packages that only some users install. */
import { readFileSync } from "node:fs";
import semver from "semver";

/**
 * The supported release lines of each optional peer, oldest first. Portside also accepts newer versions, but rejects
 * older ones. If a line is an exact version, Portside accepts only that version. `.ci/peer-versions.mjs` installs
 * each line.
 *
 * `package.json` accepts every version, because npm checks the ranges of optional peers even in applications that do
 * not use them.
 */
export const peerVersions: Readonly<Record<string, readonly [string, ...string[]]>> = {
  "@aws-sdk/client-acm": ["3"],
  "@aws-sdk/client-application-auto-scaling": ["3"],
  "@aws-sdk/client-athena": ["3"],
  "@aws-sdk/client-cloudformation": ["3"],
  "@aws-sdk/client-cloudwatch": ["3"],
  "@aws-sdk/client-cloudwatch-logs": ["3"],
  "@aws-sdk/client-codebuild": ["3"],
  "@aws-sdk/client-ecr": ["3"],
  "@aws-sdk/client-ecs": ["3"],
  "@aws-sdk/client-elastic-load-balancing-v2": ["3"],
  "@aws-sdk/client-iam": ["3"],
  "@aws-sdk/client-s3": ["3"],
  "@aws-sdk/client-s3files": ["3"],
  "@aws-sdk/client-scheduler": ["3"],
  "@aws-sdk/client-secrets-manager": ["3"],
  "@aws-sdk/client-sts": ["3"],
  "@aws-sdk/s3-request-presigner": ["3"],
  "@duckdb/node-api": ["1.5.6-r.1"],
  "@google-cloud/artifact-registry": ["5"],
  "@google-cloud/bigquery": ["9"],
  "@google-cloud/cloudbuild": ["6"],
  "@google-cloud/logging": ["12"],
  "@google-cloud/run": ["4"],
  "@google-cloud/scheduler": ["6"],
  "@google-cloud/storage": ["8"],
  "@opentelemetry/api": ["1.4", "1.9"],
  "@polyglot-sql/sdk": ["0.12.1"],
  dockerode: ["4", "5"],
  "fast-check": ["4"],
  "google-auth-library": ["11"],
  pg: ["8"],
  stripe: ["23"],
  vitest: ["4", "5"],
};

const isExact = (line: string): boolean => semver.valid(line) !== null;

const linesOf = (name: string): readonly [string, ...string[]] => peerVersions[name] ?? ["*"];

const accepts = (name: string, version: string): boolean => {
  const [oldest] = linesOf(name);
  return semver.satisfies(version, isExact(oldest) ? oldest : `>=${oldest}`, { includePrerelease: true });
};

/** Returns the command that installs packages in supported versions. */
export const installCommand = (names: readonly string[]): string =>
  `npm install ${names.map((name) => `${name}@${linesOf(name).at(-1)}`).join(" ")}`;

/** Maximum parent folders to search for the package.json of a package's entry file. */
const DEEPEST = 8;

/**
 * Returns the version of an installed package, or undefined if a bundler packed the package or npm installed it under a
 * different name.
 */
const versionFrom = (name: string, entry: string): string | undefined => {
  for (let folder = new URL(".", entry), depth = 0; depth < DEEPEST; folder = new URL("..", folder), depth++) {
    try {
      const manifest = JSON.parse(readFileSync(new URL("package.json", folder), "utf8")) as Record<string, unknown>;
      if (manifest["name"] === name) return String(manifest["version"]);
    } catch {
      // Try the next parent folder.
    }
  }
  return undefined;
};

type Installed = { readonly version: string | undefined } | undefined;

/** Returns undefined if the package is not installed. */
export const findPackage = (name: string): Installed => {
  try {
    return { version: versionFrom(name, import.meta.resolve(name)) };
  } catch {
    return undefined;
  }
};

/** Finds an installed package. Tests replace this function. */
export type FindPackage = (name: string) => Installed;

const unsupportedOf = (name: string, find: FindPackage): string | undefined => {
  const version = find(name)?.version;
  if (version === undefined || accepts(name, version)) return undefined;
  const [oldest] = linesOf(name);
  return `'${name}' ${version} is installed (required: ${oldest}${isExact(oldest) ? "" : " or newer"})`;
};

/** Returns why packages cannot be used, with the command that installs them. Returns undefined if they can. */
export const packagesProblem = (
  names: readonly string[],
  find: FindPackage = findPackage,
): { readonly words: string; readonly fix: string } | undefined => {
  const problems = names.flatMap((name) => {
    const words = find(name) === undefined ? `'${name}' is not installed` : unsupportedOf(name, find);
    return words === undefined ? [] : [{ name, words }];
  });
  if (problems.length === 0) return undefined;
  return {
    words: problems.map(({ words }) => words).join("; "),
    fix: installCommand(problems.map(({ name }) => name)),
  };
};

/** Thrown if a required package is missing or has an unsupported version. */
export class UnusablePackage extends Error {
  readonly kind = "unusable_package";
  /** The command that installs the package. */
  readonly fix: string;

  /** @param who the feature that needs the packages, as the subject of a sentence, such as `The provider gcp` */
  constructor(who: string, names: readonly string[], cause?: unknown, problem?: string) {
    const fix = installCommand(names);
    const quoted = names.map((name) => `'${name}'`).join(" and ");
    const need = `${who} needs the ${names.length === 1 ? "package" : "packages"} ${quoted}`;
    super(problem === undefined ? `${need}: ${fix}` : `${need}, but ${problem}: ${fix}`, { cause });
    this.fix = fix;
  }
}

/**
 * Returns the result of `load`. Throws `UnusablePackage` if a module is not found or a package has an unsupported
 * version.
 */
export const needPackages = async <T>(
  who: string,
  names: readonly string[],
  load: () => Promise<T>,
  find: FindPackage = findPackage,
): Promise<T> => {
  for (const name of names) {
    const problem = unsupportedOf(name, find);
    if (problem !== undefined) throw new UnusablePackage(who, [name], undefined, problem);
  }
  try {
    return await load();
  } catch (cause) {
    const { code } = cause as { code?: string };
    // CommonJS bundles use the second code.
    if (code !== "ERR_MODULE_NOT_FOUND" && code !== "MODULE_NOT_FOUND") throw cause;
    throw new UnusablePackage(who, names, cause);
  }
};
