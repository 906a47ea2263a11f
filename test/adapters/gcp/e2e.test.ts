/** The main job on the fakes of Google Cloud, by the cases of every provider. */

import { openCloud } from "../../clouds/cloud.ts";
import { gcp } from "../../clouds/gcp.ts";
import { e2eCases } from "../../e2e/cases.ts";
import { e2eTests } from "../../e2e/harness.ts";

e2eTests("gcp", e2eCases, () => openCloud(gcp));
