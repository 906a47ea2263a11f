/** The Google Cloud calls that a list of volumes or deployments makes, and those of a signed URL. */
import { expect } from "vitest";
import { callTests } from "../../clouds/calls.ts";
import { gcp } from "../../clouds/gcp.ts";

const listServices = expect.stringContaining("ListServices");

callTests(gcp, {
  volumes: { storage: ["storage.buckets.list"], run: [listServices] },
  deployments: { run: [listServices] },
  buckets: "storage",
});
