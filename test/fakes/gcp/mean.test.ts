/**
 * The main job and the port contracts on fakes with all switches on. PORTSIDE_MEAN=all also runs them with each switch
 * alone. The delays pass on a fast clock. SQL statements and the cases that only store data run on the machine's clock,
 * because they need real time. No delay affects them, and the quota of log reads is off for them, because it would add
 * minutes. The main job and test/adapters/gcp/deploy/mean.test.ts test mounts of a bucket whose grant takes effect
 * late.
 */

import { openCloud } from "../../clouds/cloud.ts";
import { cloudContractTests } from "../../clouds/contract.ts";
import { gcpWith } from "../../clouds/gcp.ts";
import { runtimeDeps } from "../../clouds/subject.ts";
import {
  runningServiceCases,
  schedulerCases,
  secretStoreCases,
  servicePlatformCases,
  storedCases,
} from "../../contracts/index.ts";
import { e2eCases } from "../../e2e/cases.ts";
import { e2eTests } from "../../e2e/harness.ts";
import { createFastClock } from "../../support/clocks/fast-clock.ts";
import { type Mean, type MeanSwitch, meanest, meanSwitches } from "./mean.ts";

const deps = () => ({ ...runtimeDeps(), clock: createFastClock(50) });

const alone = process.env["PORTSIDE_MEAN"] === "all" ? (Object.keys(meanSwitches) as MeanSwitch[]) : [];
const modes: [string, Mean][] = [
  ["unfriendly-gcp", meanest],
  ...alone.map((name): [string, Mean] => [`gcp-${name.replaceAll("_", "-")}`, new Set([name])]),
];

for (const [name, mean] of modes) {
  const unfriendly = { ...gcpWith(mean), name };
  const storing = { ...gcpWith(new Set([...mean].filter((one) => one !== "log_read_quota"))), name };
  e2eTests(
    name,
    e2eCases.filter((one) => !one.name.startsWith("SQL")),
    () => openCloud(unfriendly, "real", deps()),
  );
  await cloudContractTests(
    unfriendly,
    [...servicePlatformCases, ...runningServiceCases, ...schedulerCases, ...secretStoreCases],
    deps,
  );
  await cloudContractTests(
    storing,
    storedCases.filter((one) => !secretStoreCases.includes(one)),
  );
}
