/** `portside shell` for services in sandboxes and for plain processes. */

import { plainSource, shellTests } from "../../../support/cli/shell-suite.ts";
import { runners } from "../../../support/providers/local-platform.ts";

for (const runner of runners) shellTests(runner, { runner }, plainSource);
