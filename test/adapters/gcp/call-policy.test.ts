/** The Google Cloud calls of a list of volumes or deployments, and of a signed URL. */
import { expect } from "vitest";
import { callTests } from "../../clouds/calls.ts";
import { gcp } from "../../clouds/gcp.ts";

const listServices = expect.stringContaining("ListServices");

callTests(gcp, {
  volumes: { storage: ["storage.buckets.list"], run: [listServices] },
  deployments: { run: [listServices] },
  buckets: "storage",
});
