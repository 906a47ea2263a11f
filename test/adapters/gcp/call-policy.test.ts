/** Number of Google Cloud calls per response. */
import { expect } from "vitest";
import { callTests } from "../../clouds/calls.ts";
import { gcp } from "../../clouds/gcp.ts";

const listServices = expect.stringContaining("ListServices");

callTests(gcp, {
  volumes: { storage: ["storage.buckets.list"], run: [listServices] },
  deployments: { run: [listServices] },
  buckets: "storage",
});
