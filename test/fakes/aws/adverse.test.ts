/**
 * The end-to-end cases and the contract cases of secrets on fakes with every adverse behaviour. PORTSIDE_ADVERSE=all
 * also runs them with each one alone, and runs the port contracts about running services. The delays pass on a fast
 * clock. No delay affects SQL statements or stored data. test/adapters/aws/deploy/adverse.test.ts tests rollouts under
 * each behaviour.
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
import { type AdverseBehavior, type AdverseBehaviors, adverseBehaviors, allAdverse } from "./adverse.ts";

const deps = (times: number) => ({ ...runtimeDeps(), clock: createFastClock(times) });

const isEach = process.env["PORTSIDE_ADVERSE"] === "all";
const alone = isEach ? (Object.keys(adverseBehaviors) as AdverseBehavior[]) : [];
const modes: [string, AdverseBehaviors][] = [
  ["adverse-aws", allAdverse],
  ...alone.map((name): [string, AdverseBehaviors] => [`aws-${name.replaceAll("_", "-")}`, new Set([name])]),
];

for (const [name, adverse] of modes) {
  const cloud = { ...awsWith(adverse), name };
  e2eTests(
    name,
    e2eCases.filter((one) => !one.name.startsWith("SQL")),
    () => openCloud(cloud, "real", deps(20)),
  );
  await cloudContractTests(cloud, [...secretStoreCases, ...runningSecretCases], () => deps(20));
  // On a faster clock, services that really start would miss the short deadlines of some cases.
  if (isEach)
    await cloudContractTests(cloud, [...servicePlatformCases, ...runningServiceCases, ...schedulerCases], () =>
      deps(4),
    );
}
