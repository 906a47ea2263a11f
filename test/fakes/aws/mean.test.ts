/**
 * The main job and the contract cases of secrets on fakes with all switches on. PORTSIDE_MEAN=all also runs them with
 * each switch alone, and runs the port contracts about running services. The delays pass on a fast clock. No delay
 * affects SQL statements or stored data. test/adapters/aws/deploy/mean.test.ts tests rollouts under each switch.
 */

import { awsWith } from "../../clouds/aws.ts";
import { openCloud } from "../../clouds/cloud.ts";
import { cloudContractTests } from "../../clouds/contract.ts";
import { runtimeDeps } from "../../clouds/subject.ts";
import {
  runningSecretCases,
  runningServiceCases,
  schedulerCases,
  secretStoreCases,
  servicePlatformCases,
} from "../../contracts/index.ts";
import { e2eCases } from "../../e2e/cases.ts";
import { e2eTests } from "../../e2e/harness.ts";
import { createFastClock } from "../../support/clocks/fast-clock.ts";
import { type Mean, type MeanSwitch, meanest, meanSwitches } from "./mean.ts";

const deps = (times: number) => ({ ...runtimeDeps(), clock: createFastClock(times) });

const isEach = process.env["PORTSIDE_MEAN"] === "all";
const alone = isEach ? (Object.keys(meanSwitches) as MeanSwitch[]) : [];
const modes: [string, Mean][] = [
  ["unfriendly-aws", meanest],
  ...alone.map((name): [string, Mean] => [`aws-${name.replaceAll("_", "-")}`, new Set([name])]),
];

for (const [name, mean] of modes) {
  const unfriendly = { ...awsWith(mean), name };
  e2eTests(
    name,
    e2eCases.filter((one) => !one.name.startsWith("SQL")),
    () => openCloud(unfriendly, "real", deps(20)),
  );
  await cloudContractTests(unfriendly, [...secretStoreCases, ...runningSecretCases], () => deps(20));
  // On a faster clock, services that really start would miss the short deadlines of some cases.
  if (isEach)
    await cloudContractTests(unfriendly, [...servicePlatformCases, ...runningServiceCases, ...schedulerCases], () =>
      deps(4),
    );
}
