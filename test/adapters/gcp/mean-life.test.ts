/** Releases on fakes of Google Cloud with all switches on match the model. PORTSIDE_MEAN=all sets 100 runs. */
import { gcpWith } from "../../clouds/gcp.ts";
import { unfriendlyLifeTest } from "../../clouds/life.ts";
import { meanest } from "../../fakes/gcp/mean.ts";

const times = process.env["PORTSIDE_MEAN"] === "all" ? 100 : 1;

unfriendlyLifeTest(gcpWith(meanest), { listsPruned: false }, 50, times);
