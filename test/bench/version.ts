/** The startup time of the command line. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import type { Bench } from "./bench.ts";

const RUNS = 20;

const timed = (args: readonly string[], runs: number) => async (): Promise<number> => {
  const begun = performance.now();
  for (let run = 0; run < runs; run++) spawnSync(process.execPath, [...args], { stdio: "ignore" });
  return (performance.now() - begun) / runs;
};

export const version: Bench = {
  name: "version",
  title: "the built `portside version`, compared with `node -e 0`",
  unit: "ms",
  goals: [{ peer: "node -e 0", at: "most", bound: 1.4 }],
  prepare: async ({ small }) => {
    if (!existsSync("dist/hosts/cli/main.js")) throw new Error("the build is missing: npm run build");
    const runs = small ? 2 : RUNS;
    return {
      subject: { name: "portside version", measure: timed(["dist/hosts/cli/main.js", "version"], runs) },
      peers: [{ name: "node -e 0", measure: timed(["-e", "0"], runs) }],
      [Symbol.asyncDispose]: async () => undefined,
    };
  },
};
