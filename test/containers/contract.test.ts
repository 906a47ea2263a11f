/** The local engine keeps every promise about services that run: in containers, and beside a container engine. */
import { runningCases } from "../contracts/index.ts";
import { engineTests } from "../support/providers/local-suites.ts";

for (const runner of ["container", "bubblewrap", "process"] as const)
  await engineTests(runner, `local provider (${runner})`, runningCases);
