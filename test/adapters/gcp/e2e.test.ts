/** The main job on the Google Cloud fakes, with the cases that every provider shares. */

import { openCloud } from "../../clouds/cloud.ts";
import { gcp } from "../../clouds/gcp.ts";
import { e2eCases } from "../../e2e/cases.ts";
import { e2eTests } from "../../e2e/harness.ts";

e2eTests("gcp", e2eCases, () => openCloud(gcp));
