/** `npm run bench [-- NAME...] [--json FILE] [--small]`: runs benchmarks and prints their results. */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { type Bench, type Outcome, runBench } from "./bench.ts";
import { coldStart, coldStartBubblewrap, coldStartExpress, coldStartExpressBubblewrap } from "./cold-start.ts";
import { consoleBenches } from "./console/console.ts";
import { coldStartContainer, containerDeploy } from "./containers.ts";
import { cronLateness } from "./cron.ts";
import { deploy, rollback } from "./deploy.ts";
import { ingress } from "./ingress/ingress.ts";
import { ingressTls } from "./ingress/ingress-tls.ts";
import { hostileNames } from "./ingress/neighbour-sni.ts";
import { list } from "./list.ts";
import { logDelay, logFollow, logHttp, logIngest, logWait } from "./logs-live.ts";
import { filterParse, logFilters, logHistogram, logPages, logPatterns } from "./logs-store.ts";
import { idleServe, idleService } from "./memory.ts";
import { lines } from "./report.ts";
import { ingressRunners, neighbours } from "./runners.ts";
import { sqlCatchUp, sqlFirst, sqlGroupBy, sqlIdle } from "./sql.ts";
import { storageGet, storagePut } from "./storage.ts";
import { version } from "./version.ts";
import { volumeList, volumePage } from "./volumes.ts";
import { wakes } from "./wake.ts";

const benches: readonly Bench[] = [
  deploy,
  rollback,
  coldStart,
  coldStartBubblewrap,
  coldStartExpress,
  coldStartExpressBubblewrap,
  coldStartContainer,
  ...wakes,
  containerDeploy,
  ingress,
  ...ingressTls,
  ...hostileNames,
  ingressRunners,
  ...neighbours,
  list,
  idleServe,
  idleService,
  version,
  logPages,
  logFilters,
  logHistogram,
  logPatterns,
  filterParse,
  logIngest,
  logDelay,
  logFollow,
  logWait,
  logHttp,
  storagePut,
  storageGet,
  volumePage,
  volumeList,
  cronLateness,
  sqlGroupBy,
  sqlCatchUp,
  sqlFirst,
  sqlIdle,
  ...consoleBenches,
];

const { values, positionals } = parseArgs({
  options: { json: { type: "string" }, small: { type: "boolean", default: false } },
  allowPositionals: true,
});

/** Returns the benchmark with the name, or the benchmarks whose names begin with it and a hyphen. */
const benchesOf = (wanted: string): readonly Bench[] => {
  const exact = benches.filter(({ name }) => name === wanted);
  return exact.length > 0 ? exact : benches.filter(({ name }) => name.startsWith(`${wanted}-`));
};

const unknown = positionals.filter((name) => benchesOf(name).length === 0);
if (unknown.length > 0) {
  console.error(`Unknown benchmark ${unknown.join(", ")}. Use ${benches.map(({ name }) => name).join(", ")}.`);
  process.exit(2);
}

if (values.small) console.error("--small measures once, without a warm-up: do not compare its figures.");

const outcomes: Outcome[] = [];
const chosen = new Set(positionals.flatMap(benchesOf));
for (const bench of benches) {
  if (positionals.length > 0 && !chosen.has(bench)) continue;
  const outcome = await runBench(bench, values.small).catch((error: unknown) => {
    console.error(`${bench.name}: FAILED`, error);
    process.exitCode = 1;
  });
  if (outcome === undefined) continue;
  if ("skipped" in outcome) {
    console.log(`${bench.name}: skipped (${outcome.skipped})\n`);
    continue;
  }
  outcomes.push(outcome);
  console.log(`${lines(outcome).join("\n")}\n`);
  // After each benchmark, so that an interrupted run keeps its results.
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(outcomes, null, 2)}\n`);
}
// A benchmark that failed during its setup leaves processes, which would keep this one running.
process.exit();
