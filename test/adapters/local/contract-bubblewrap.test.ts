/** The local provider fulfils the contracts about running services with the bubblewrap runner, where it works. */
import { test } from "vitest";
import { runningCases } from "../../contracts/index.ts";
import { engineTests } from "../../support/providers/local-suites.ts";
import { has, needs } from "../../support/vitest/machine.ts";

if (has("bubblewrap")) await engineTests("bubblewrap", "local provider (bubblewrap)", runningCases);
else test("local provider (bubblewrap)", (context) => needs(context, "bubblewrap"));
