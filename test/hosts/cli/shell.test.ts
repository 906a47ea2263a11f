/** `portside shell` leads into sandboxes and beside processes. */
import { runners } from "../../support/local-platform.ts";
import { plainSource, shellTests } from "../../support/shell-suite.ts";

for (const runner of runners) shellTests(runner, { runner }, plainSource);
