/**
 * Requirements of some tests on the machine. A test without its requirement is reported as not run, with the reason.
 */
import { spawnSync } from "node:child_process";
import { existsSync, globSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import type { TestContext } from "vitest";
import { networkEnvironment } from "../../../adapters/local/builds/toolchain.ts";
import { findControlGroups } from "../../../adapters/local/sandbox/cgroup.ts";

const works = (command: string, args: readonly string[], env = process.env, timeout = 10_000): boolean => {
  const tried = spawnSync(command, args, { stdio: "ignore", timeout, env });
  return tried.error === undefined && tried.status === 0;
};

/** Network settings as builds get them, without the user's settings or a writable folder. */
const asBuildsDo = (): NodeJS.ProcessEnv => ({
  ...networkEnvironment(process.env),
  PATH: process.env["PATH"],
  HOME: "/dev/null",
});

/** The program from the environment variable or the path. */
export const fakeGcsServer = process.env["PORTSIDE_FAKE_GCS"] ?? "fake-gcs-server";

/** sslyze, a scanner of TLS servers in a separate Python environment. */
export const sslyze = process.env["PORTSIDE_SSLYZE"] ?? "/usr/local/lib/portside-sslyze/bin/sslyze";

/** cfn-lint, a Python program, from the environment or the path. */
export const cfnLint = process.env["PORTSIDE_CFN_LINT"] ?? "cfn-lint";

/**
 * The folder of AWS's judges: the Python environments `botocore`, `policy-sentry`, `moto`, `ministack` and `aws-cli`.
 */
export const awsJudges = process.env["PORTSIDE_AWS_JUDGES"] ?? "/usr/local/lib/portside-judges";

/** moto: https://github.com/getmoto/moto */
export const motoServer = join(awsJudges, "moto/bin/moto_server");

/** The folder of linters and client generators for OpenAPI, with `node_modules` and a Python environment `python`. */
export const generators = process.env["PORTSIDE_GENERATORS"] ?? "/usr/local/lib/portside-generators";

/** The folder of GoogleSQL's analyzer: the Java packages of `test/support/sql/googlesql/pom.xml`. */
export const googleSql = process.env["PORTSIDE_GOOGLESQL"] ?? "/usr/local/lib/portside-googlesql";

/** The browser of the console's tests; undefined if it is not installed. */
export const browserProgram = (): string | undefined =>
  [process.env["PORTSIDE_CHROMIUM"], "/usr/bin/chromium"].find((path) => path !== undefined && existsSync(path));

/** Debian's folder of the server programs, of the newest version. */
export const postgresPrograms = (): string | undefined =>
  globSync("/usr/lib/postgresql/*/bin/initdb").sort().at(-1)?.slice(0, -"/initdb".length);

const checks = {
  bubblewrap: {
    here: () =>
      works("bwrap", [
        "--unshare-user",
        "--unshare-pid",
        "--ro-bind",
        "/",
        "/",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "sh",
        "-c",
        ":",
      ]),
    why: "bubblewrap (bwrap) is missing or does not work",
  },
  python: {
    here: () => works("python3", ["-c", "import http.server, venv, ensurepip"]),
    why: "python3 with venv is not installed",
  },
  ipv6: {
    here: () => Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === "::1")),
    why: "this machine has no IPv6 loopback",
  },
  curl: { here: () => works("curl", ["--version"]), why: "curl is not installed" },
  openssl: { here: () => works("openssl", ["version"]), why: "openssl is not installed" },
  sslyze: { here: () => works(sslyze, ["--help"]), why: "sslyze is not installed (install_sslyze in .ci/run)" },
  bash: { here: () => works("bash", ["--version"]), why: "bash is not installed" },
  zsh: { here: () => works("zsh", ["--version"]), why: "zsh is not installed" },
  fish: { here: () => works("fish", ["--version"]), why: "fish is not installed" },
  "systemd-notify": { here: () => works("systemd-notify", ["--version"]), why: "systemd is not installed" },
  nginx: { here: () => works("nginx", ["-v"]), why: "nginx is not installed" },
  tar: { here: () => works("tar", ["--version"]), why: "tar is not installed" },
  cc: { here: () => works("cc", ["--version"]), why: "a C compiler (cc) is not installed" },
  setpriv: {
    here: () => works("setpriv", ["--pdeathsig", "KILL", "true"]),
    why: "setpriv is not installed (Debian: util-linux), or it lacks --pdeathsig",
  },
  npm: { here: () => works("npm", ["--version"]), why: "npm is not installed" },
  git: {
    here: () => works("git", ["rev-parse", "HEAD"]),
    why: "this folder is not a git clone, or git is not installed",
  },
  registry: {
    here: () => works("npm", ["ping", "--fetch-retries=0", "--fetch-timeout=8000"], asBuildsDo()),
    why: "the package registry does not respond, or npm is not installed",
  },
  "python index": {
    here: () =>
      works(
        "python3",
        ["-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--no-deps", "itsdangerous"],
        asBuildsDo(),
        60_000,
      ),
    why: "the Python package index does not respond, or pip is not installed",
  },
  postgres: {
    here: () => postgresPrograms() !== undefined,
    why: "PostgreSQL's server is not installed (Debian: postgresql)",
  },
  "stripe-mock": {
    here: () => works("stripe-mock", ["-version"]),
    why: "stripe-mock is not installed (go install github.com/stripe/stripe-mock@latest)",
  },
  pebble: {
    here: () => works("sh", ["-c", "command -v pebble && command -v pebble-challtestsrv"]),
    why: "Pebble is not installed (install_peers in .ci/run)",
  },
  "fake-gcs-server": {
    here: () => works(fakeGcsServer, ["-h"]),
    why: "fake-gcs-server is not installed (go install github.com/fsouza/fake-gcs-server@latest; PORTSIDE_FAKE_GCS names it)",
  },
  moto: {
    // moto loads every service that it emulates before it prints anything.
    here: () => works(motoServer, ["-h"], process.env, 60_000),
    why: "moto is not installed (install_moto in .ci/run; PORTSIDE_AWS_JUDGES names the folder)",
  },
  "cfn-lint": {
    here: () => works(cfnLint, ["--version"], process.env, 60_000),
    why: "cfn-lint is not installed (pip install cfn-lint; PORTSIDE_CFN_LINT names it)",
  },
  botocore: {
    here: () => works(join(awsJudges, "botocore/bin/python"), ["-c", "import botocore, regex"], process.env, 60_000),
    why: "botocore is not installed (install_judges in .ci/run; PORTSIDE_AWS_JUDGES names the folder)",
  },
  policy_sentry: {
    here: () => works(join(awsJudges, "policy-sentry/bin/python"), ["-c", "import policy_sentry"], process.env, 60_000),
    why: "policy_sentry is not installed (install_judges in .ci/run; PORTSIDE_AWS_JUDGES names the folder)",
  },
  ministack: {
    here: () =>
      existsSync(join(awsJudges, "aws-cli/bin/aws")) &&
      works(join(awsJudges, "ministack/bin/python"), ["-c", "import docker, ministack"], process.env, 60_000),
    why: "ministack is not installed (install_ministack in .ci/run; PORTSIDE_AWS_JUDGES names the folder)",
  },
  generators: {
    here: () =>
      existsSync(join(generators, "node_modules/typescript")) &&
      works(join(generators, "python/bin/openapi-python-client"), ["--version"], process.env, 60_000),
    why: "client generators are not installed (install_generators in .ci/run; PORTSIDE_GENERATORS names their folder)",
  },
  googlesql: {
    here: () => globSync(join(googleSql, "zetasql-client-*.jar")).length > 0 && works("java", ["-version"]),
    why: "GoogleSQL's analyzer or Java 17 is not installed (install_googlesql in .ci/run; PORTSIDE_GOOGLESQL names its folder)",
  },
  chromium: {
    here: () => browserProgram() !== undefined,
    why: "Chromium is not installed (Debian: chromium; PORTSIDE_CHROMIUM names the program)",
  },
  containers: {
    here: () => works("docker", ["version"]),
    why: "no container engine responds (install docker.io and start dockerd)",
  },
  buildkit: {
    here: () => works("sh", ["-c", "printf 'FROM scratch\\nLABEL a=b\\n' | DOCKER_BUILDKIT=1 docker build --quiet -"]),
    why: "the docker command has no BuildKit (Debian's docker.io includes it; elsewhere install docker-buildx)",
  },
  podman: { here: () => works("podman", ["version"]), why: "podman is not installed" },
  "base images": {
    here: () => works("docker", ["image", "inspect", "python:3.11-slim-bookworm", "node:24-bookworm-slim"]),
    why: "the base images are missing (run test/containers/base-images.sh)",
  },
  "loop devices": {
    here: () => process.getuid?.() === 0 && works("losetup", ["--find"]) && works("mkfs.ext4", ["-V"]),
    why: "cannot mount file systems in files; that requires root, loop devices and mkfs.ext4",
  },
  root: { here: () => process.getuid?.() === 0, why: "requires root" },
  cgroups: {
    here: () => findControlGroups("portside-probe") !== undefined,
    why: "cannot create control groups; that requires root",
  },
} as const;

export type Need = keyof typeof checks;

const known = new Map<Need, boolean>();

export const has = (need: Need): boolean => {
  const answer = known.get(need) ?? checks[need].here();
  known.set(need, answer);
  return answer;
};

/** Call first in a test: skips it, with the reason, if the machine lacks a requirement. */
export const needs = (context: TestContext, ...wanted: readonly Need[]): void => {
  const lacking = wanted.find((need) => !has(need));
  if (lacking !== undefined) context.skip(checks[lacking].why);
};
