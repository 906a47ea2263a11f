/** How many calls of Google Cloud an answer costs. */
import { expect } from "vitest";
import { callTests } from "../../clouds/calls.ts";
import { gcp } from "../../clouds/gcp.ts";

const listServices = expect.stringContaining("ListServices");

callTests(gcp, {
  volumes: { storage: ["storage.buckets.list"], run: [listServices] },
  deployments: { run: [listServices] },
  buckets: "storage",
});
