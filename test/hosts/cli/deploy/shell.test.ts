/** `portside shell` leads into sandboxes and beside processes. */

import { plainSource, shellTests } from "../../../support/cli/shell-suite.ts";
import { runners } from "../../../support/providers/local-platform.ts";

for (const runner of runners) shellTests(runner, { runner }, plainSource);
