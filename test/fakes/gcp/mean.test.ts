/**
 * The main job and the port contracts on fakes with all switches on. The delays pass on a fast clock. SQL statements and
 * the cases that only store data have real times, so they run on the machine's clock; no delay concerns them. Mounts of
 * a late grant are in the main job and in test/adapters/gcp/deploy/mean.test.ts.
 */

import { openCloud } from "../../clouds/cloud.ts";
import { cloudContractTests } from "../../clouds/contract.ts";
import { gcpWith } from "../../clouds/gcp.ts";
import { runtimeDeps } from "../../clouds/subject.ts";
import { runningServiceCases, schedulerCases, servicePlatformCases, storedCases } from "../../contracts/index.ts";
import { e2eCases } from "../../e2e/cases.ts";
import { e2eTests } from "../../e2e/harness.ts";
import { createFastClock } from "../../support/clocks/fast-clock.ts";
import { meanest } from "./mean.ts";

const unfriendly = { ...gcpWith(meanest), name: "unfriendly-gcp" };
const deps = () => ({ ...runtimeDeps(), clock: createFastClock(50) });

e2eTests(
  unfriendly.name,
  e2eCases.filter(({ name }) => !name.startsWith("SQL")),
  () => openCloud(unfriendly, "real", deps()),
);
await cloudContractTests(unfriendly, [...servicePlatformCases, ...runningServiceCases, ...schedulerCases], deps);
await cloudContractTests(unfriendly, storedCases);
