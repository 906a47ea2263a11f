/**
 * `npm run soak [-- STAGE...]`: the long runs before each release. The stages are `properties` (ten times as many
 * runs), `kills` (a thousand), `restarts` (100 of the server), `upgrades` (100), `prove-kills` (20), `damages` (500
 * data folders), `frozen` (200 services), `matrices` (all combinations of attacks and faults), `adverse` (each adverse
 * behaviour of the fake clouds with every suite), `deployments` (a thousand on the fake load balancers of AWS),
 * `gcsfuse` (on an emulator), `versions` (upgrades from an earlier version and back) and `redeploys` (two hours under
 * load). Runs all stages if none is named.
 */
import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: "string", default: String(Date.now() % 1_000_000_000) },
    runs: { type: "string", default: "10" },
    kills: { type: "string", default: "1000" },
    damages: { type: "string", default: "500" },
    deployments: { type: "string", default: "1000" },
    minutes: { type: "string", default: "120" },
    /** A tag or commit; defaults to the newest tag. */
    from: { type: "string", default: "" },
  },
});

interface Stage {
  readonly name: string;
  readonly what: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly args: readonly string[];
}

const vitest = (...args: string[]): string[] => ["node_modules/vitest/vitest.mjs", "run", ...args];

const stages: readonly Stage[] = [
  {
    name: "properties",
    what: `properties with ${values.runs} times as many runs`,
    env: { PORTSIDE_RUNS: values.runs },
    args: vitest(".prop.test", "--testTimeout", "3600000"),
  },
  {
    name: "damages",
    what: `${values.damages} cases of damage`,
    env: { PORTSIDE_DAMAGES: values.damages },
    args: vitest("test/adapters/local/data-folder/random-damage.test.ts"),
  },
  {
    name: "kills",
    what: `${values.kills} kills`,
    env: {
      PORTSIDE_KILLS: values.kills,
      PORTSIDE_RELEASE_KILLS: String(Math.ceil(Number(values.kills) / 10)),
      PORTSIDE_DOMAIN_KILLS: String(Math.ceil(Number(values.kills) / 20)),
    },
    args: vitest(
      ...["test/e2e/kill.test.ts", "test/e2e/release-kills.test.ts", "test/e2e/custom-domains.test.ts"],
      ...["--testTimeout", "36000000"],
    ),
  },
  {
    name: "restarts",
    what: "100 restarts of the server under load",
    env: { PORTSIDE_RESTARTS: "50" },
    args: vitest("test/e2e/restarts.test.ts", "--testTimeout", "3600000"),
  },
  {
    name: "upgrades",
    what: "100 upgrades under load",
    env: { PORTSIDE_UPGRADES: "50" },
    args: vitest("test/e2e/upgrades.test.ts", "--testTimeout", "3600000"),
  },
  {
    name: "prove-kills",
    what: "20 kills of portside prove",
    env: { PORTSIDE_PROVE_KILLS: "20" },
    args: vitest("test/hosts/cli/prove/kills.test.ts"),
  },
  {
    name: "frozen",
    what: "200 frozen services under a memory budget of 4 GiB",
    env: { PORTSIDE_FROZEN: "200" },
    args: vitest("test/adapters/local/ingress/frozen-crowd.test.ts", "--testTimeout", "3600000"),
  },
  {
    name: "matrices",
    what: "every attack of a build, every fault of a call, and the other matrices that CI samples",
    env: { PORTSIDE_MATRIX: "all" },
    args: vitest(
      "faults.test.ts",
      "test/adapters/local/builds/hostile.test.ts",
      "test/adapters/local/builds/python-starters.test.ts",
      "test/adapters/local/logs/searches.test.ts",
      "test/adapters/local/volumes/large.test.ts",
      "test/containers/hostile-plain-builds.test.ts",
      "test/containers/ministack.test.ts",
      "test/e2e/upgrade-faults.test.ts",
    ),
  },
  {
    name: "adverse",
    what: "every adverse behaviour of Google Cloud and AWS, with every suite, 100 sequences of changes to releases on each, and 100 redeploys at AWS's rates through the API",
    env: { PORTSIDE_ADVERSE: "all" },
    args: vitest(
      ...["test/fakes/gcp/adverse.test.ts", "test/fakes/aws/adverse.test.ts"],
      ...["test/adapters/gcp/adverse-life.test.ts", "test/adapters/aws/adverse-life.test.ts"],
      ...["test/adapters/aws/deploy/call-rates.test.ts", "test/adapters/aws/deploy/api-rates.test.ts"],
    ),
  },
  {
    name: "deployments",
    what: `${values.deployments} deployments on the fake load balancers of AWS`,
    env: { PORTSIDE_DEPLOYMENTS: values.deployments },
    args: vitest("test/adapters/aws/deploy/balancers.test.ts", "test/adapters/aws/deploy/full-balancers.test.ts"),
  },
  { name: "gcsfuse", what: "volumes of Google Cloud under gcsfuse", args: ["test/soak/gcsfuse.ts"] },
  {
    name: "versions",
    what: `upgrades from ${values.from || "the newest tag"} and back`,
    args: ["test/soak/versions.ts", "--from", values.from],
  },
  {
    name: "redeploys",
    what: `${values.minutes} minutes of redeploys`,
    args: ["test/soak/redeploys.ts", "--minutes", values.minutes],
  },
];

const unknown = positionals.find((name) => !stages.some((stage) => stage.name === name));
if (unknown !== undefined)
  throw new Error(`Unknown stage '${unknown}'. Use one of ${stages.map(({ name }) => name).join(", ")}.`);

console.log(`seed ${values.seed}`);
for (const { name, what, env = {}, args } of stages) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  const begun = performance.now();
  const ran = spawnSync(process.execPath, args, {
    stdio: "inherit",
    env: { ...process.env, PORTSIDE_SEED: values.seed, ...env },
  });
  console.log(`${what}: ${ran.status === 0 ? "ok" : "FAILED"} in ${Math.round((performance.now() - begun) / 1000)} s`);
  if (ran.status !== 0) process.exitCode = 1;
}
