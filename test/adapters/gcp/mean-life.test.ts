/**
 * Releases on fakes of Google Cloud with all switches on match the model. PORTSIDE_MEAN=all sets 100 runs; PORTSIDE_SEED selects
 * them.
 */
import { gcpWith } from "../../clouds/gcp.ts";
import { releaseLifeTests } from "../../clouds/life.ts";
import { meanest } from "../../fakes/gcp/mean.ts";

const times = process.env["PORTSIDE_MEAN"] === "all" ? 100 : 1;

releaseLifeTests({ ...gcpWith(meanest), name: "unfriendly-gcp" }, { listsPruned: false, speed: 50, times });
