/** The local engine fulfils the contract for running services in containers, and with a container engine present. */
import { runningCases } from "../contracts/index.ts";
import { engineTests } from "../support/providers/local-suites.ts";

for (const runner of ["container", "bubblewrap", "process"] as const)
  await engineTests(runner, `local provider (${runner})`, runningCases);
