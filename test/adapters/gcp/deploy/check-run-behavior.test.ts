/** The doctor tests how Cloud Run behaves where its documentation is silent, and leaves no service behind. */
import { expect, test } from "vitest";
import { gcpConfigOf } from "../../../../adapters/gcp/config.ts";
import { checkRunBehavior } from "../../../../adapters/gcp/deploy/check-run-behavior.ts";
import type { AdverseBehavior } from "../../../fakes/gcp/adverse.ts";
import { PROJECT, REGION } from "../../../fakes/gcp/test-project.ts";
import { openFakeCloudRun } from "../../../support/providers/cloud-run-platform.ts";

const config = gcpConfigOf({ project: PROJECT, region: REGION, dataDir: "/nowhere" });

const asked = async (
  adverse: readonly AdverseBehavior[],
  prepare = (_run: Awaited<ReturnType<typeof openFakeCloudRun>>) => {},
) => {
  const run = await openFakeCloudRun({ adverse: new Set(adverse) });
  try {
    const email = config.buildIdentity;
    run.iam.accounts.set(email, { email, displayName: "", description: "", hidden: 0, createdAt: 0 });
    prepare(run);
    const findings = await Array.fromAsync(checkRunBehavior(config, run.clients));
    expect(run.run.names()).toEqual([]);
    return findings;
  } finally {
    await run.close();
  }
};

test("reports the startup probes and the public services that Cloud Run accepts", async () => {
  expect(await asked([])).toEqual([
    expect.objectContaining({ verdict: "ok", what: "startup probes", words: expect.stringContaining("480 s") }),
    expect.objectContaining({ verdict: "ok", what: "public services", words: expect.stringContaining("without") }),
  ]);
});

test("reports the probe limit and the access policy that a stricter Cloud Run requires", async () => {
  expect(await asked(["probe_product_240", "invoker_check_required"])).toEqual([
    expect.objectContaining({ verdict: "ok", what: "startup probes", words: expect.stringContaining("at most") }),
    expect.objectContaining({ verdict: "ok", what: "public services", words: expect.stringContaining("allUsers") }),
  ]);
});

test("warns if a check fails for a different reason", async () => {
  const findings = await asked([], ({ run }) => run.faults.inject({ nth: 1, kind: "permission_denied" }));
  expect(findings[0]).toMatchObject({ verdict: "warning", what: "startup probes" });
  expect(findings[1]).toMatchObject({ verdict: "ok" });
});
