/**
 * The end-to-end cases and the port contracts on fakes with every adverse behaviour. PORTSIDE_ADVERSE=all also runs
 * them with each one alone. The delays pass on a fast clock. SQL statements and the cases that only store data run on
 * the machine's clock, because they need real time. No delay affects them, and the quota of log reads is off for them,
 * because it would add minutes. The end-to-end cases and test/adapters/gcp/deploy/adverse.test.ts test mounts of a
 * bucket whose grant takes effect late.
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
import { type AdverseBehavior, type AdverseBehaviors, adverseBehaviors, allAdverse } from "./adverse.ts";

const deps = () => ({ ...runtimeDeps(), clock: createFastClock(50) });

const alone = process.env["PORTSIDE_ADVERSE"] === "all" ? (Object.keys(adverseBehaviors) as AdverseBehavior[]) : [];
const modes: [string, AdverseBehaviors][] = [
  ["adverse-gcp", allAdverse],
  ...alone.map((name): [string, AdverseBehaviors] => [`gcp-${name.replaceAll("_", "-")}`, new Set([name])]),
];

for (const [name, adverse] of modes) {
  const cloud = { ...gcpWith(adverse), name };
  const storing = { ...gcpWith(new Set([...adverse].filter((one) => one !== "log_read_quota"))), name };
  e2eTests(
    name,
    e2eCases.filter((one) => !one.name.startsWith("SQL")),
    () => openCloud(cloud, "real", deps()),
  );
  await cloudContractTests(
    cloud,
    [...servicePlatformCases, ...runningServiceCases, ...schedulerCases, ...secretStoreCases],
    deps,
  );
  await cloudContractTests(
    storing,
    storedCases.filter((one) => !secretStoreCases.includes(one)),
  );
}
