/** The end-to-end cases of every provider, on the Google Cloud fakes. */

import { openCloud } from "../../clouds/cloud.ts";
import { gcp } from "../../clouds/gcp.ts";
import { e2eCases } from "../../e2e/cases.ts";
import { e2eTests } from "../../e2e/harness.ts";

e2eTests("gcp", e2eCases, () => openCloud(gcp));
