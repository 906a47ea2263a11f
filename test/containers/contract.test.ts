/**
 * The local engine fulfils the contract for running services in containers, and with other runners next to a container
 * engine.
 */
import { runningCases } from "../contracts/index.ts";
import { engineTests } from "../support/providers/local-suites.ts";

for (const runner of ["container", "bubblewrap", "process"] as const)
  await engineTests(runner, `local provider (${runner})`, runningCases);
