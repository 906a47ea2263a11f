/** `npm run soak`: the long random runs, once before a release: properties ten times as often, and a thousand kills. */
import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: String(Date.now() % 1_000_000_000) },
    runs: { type: "string", default: "10" },
    kills: { type: "string", default: "1000" },
  },
});

interface Stage {
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
  readonly args: readonly string[];
}

const stages: readonly Stage[] = [
  {
    name: `properties, ${values.runs} times`,
    env: { PORTSIDE_RUNS: values.runs },
    args: [".prop.test", "--testTimeout", "3600000"],
  },
  {
    name: `${values.kills} kills`,
    env: { PORTSIDE_KILLS: values.kills },
    args: ["test/e2e/kill.test.ts", "--testTimeout", "36000000"],
  },
];

console.log(`seed ${values.seed}`);
for (const { name, env, args } of stages) {
  const begun = performance.now();
  const ran = spawnSync(process.execPath, ["node_modules/vitest/vitest.mjs", "run", ...args], {
    stdio: "inherit",
    env: { ...process.env, PORTSIDE_SEED: values.seed, ...env },
  });
  console.log(`${name}: ${ran.status === 0 ? "ok" : "FAILED"} in ${Math.round((performance.now() - begun) / 1000)} s`);
  if (ran.status !== 0) process.exitCode = 1;
}
