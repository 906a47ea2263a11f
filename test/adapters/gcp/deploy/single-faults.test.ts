/** Injects a fault at each call of a rollout or a removal on Cloud Run. */
import { expect } from "vitest";
import { rolloutFaultTests } from "../../../clouds/rollouts/single-faults.ts";
import { runRollouts } from "../../../support/providers/cloud-run-platform.ts";

rolloutFaultTests(runRollouts, {
  finder: "run",
  calls: { deploy: 11, removal: 2 },
  every: 3,
  nothingElse: (run, name, what) =>
    // On Cloud Run, a deployment consists of its service alone.
    expect(run.run.names().includes(name), what).toBe(run.routed(name) !== undefined),
});
