// Releases in two steps, with a review between them:
//   npm run release -- version     on a clean main: consumes the changesets, sets the version, updates the changelog
//   npm run release -- publish     in CI, from that commit: publishes with provenance, and tags
//   npm run release -- dry-run     anywhere: builds, and shows what would be published
import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const read = (command, ...args) => execFileSync(command, args, { encoding: "utf8" }).trim();
const run = (command, args, env = process.env) => {
  const { status } = spawnSync(command, args, { stdio: "inherit", env });
  if (status !== 0) process.exit(status ?? 1);
};
const manifest = () => JSON.parse(readFileSync("package.json", "utf8"));
const changesets = () => readdirSync(".changeset").filter((name) => name.endsWith(".md"));
const UNRELEASED = "## Unreleased";

/** Both steps need a clean tree on main. */
const ofTree = () => [
  read("git", "status", "--porcelain") !== "" && "the tree is not clean: commit or stash your changes",
  read("git", "branch", "--show-current") !== "main" && "releases start from main: git switch main",
];

/** Sigstore signs only in CI: https://docs.npmjs.com/generating-provenance-statements */
const ofCi = (env) => {
  const hasIdentity = env.ACTIONS_ID_TOKEN_REQUEST_URL !== undefined || env.SIGSTORE_ID_TOKEN !== undefined;
  return [
    env.CI === undefined && "publishing requires CI; this is not a CI run",
    !hasIdentity &&
      "provenance needs an OpenID token from CI: on GitHub, give the job 'permissions: { id-token: write }'; on GitLab, an id_token SIGSTORE_ID_TOKEN",
    env.NODE_AUTH_TOKEN === undefined &&
      env.NPM_TOKEN === undefined &&
      env.NPM_CONFIG_USERCONFIG === undefined &&
      !hasIdentity &&
      "npm has no credentials: set a token, or make the CI a trusted publisher of the package",
  ];
};

const ofPackage = ({ version, repository }) => [
  repository === undefined && "package.json names no repository, which provenance requires",
  changesets().length > 0 && `${changesets().length} changesets are pending: npm run release -- version`,
  !readFileSync("CHANGELOG.md", "utf8").includes(`\n## ${version}\n`) && `CHANGELOG.md has no entry for ${version}`,
];

const refuse = (...problems) => {
  const found = problems.flat().filter((one) => one !== false);
  if (found.length === 0) return;
  console.error(`Not released:\n${found.map((one) => `  ${one}`).join("\n")}`);
  process.exit(1);
};

const steps = {
  version: () => {
    refuse(ofTree(), changesets().length === 0 && "there is no changeset: npx changeset");
    run("npx", ["changeset", "version"]);
    const { version } = manifest();
    const changelog = readFileSync("CHANGELOG.md", "utf8");
    writeFileSync("CHANGELOG.md", changelog.replace(UNRELEASED, `${UNRELEASED}\n\n## ${version}`));
    // The lock also contains the version. npm drops the entries that `npm run lock` then restores.
    run("npm", ["install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund"]);
    run("npm", ["run", "-s", "lock"]);
    console.log(`Version ${version}: review the changes, then commit them as "chore: release ${version}".`);
  },
  publish: () => {
    refuse(ofTree(), ofCi(process.env), ofPackage(manifest()));
    run("npx", ["changeset", "publish"], { ...process.env, NPM_CONFIG_PROVENANCE: "true" });
  },
  "dry-run": () => run("npm", ["publish", "--dry-run", "--provenance=false"]),
};

const step = steps[process.argv[2]];
if (step === undefined) {
  console.error(`npm run release -- ${Object.keys(steps).join(" | ")}`);
  process.exit(1);
}
step();
