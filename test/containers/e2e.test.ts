/** The end-to-end cases with services in containers, and with the other runners next to a container engine. */
import { e2eCases } from "../e2e/cases.ts";
import { e2eTests } from "../e2e/harness.ts";
import { openForMainJob } from "../support/providers/local-suites.ts";

for (const runner of ["container", "bubblewrap", "process"] as const)
  e2eTests(`local (${runner})`, e2eCases, () => openForMainJob(runner));
