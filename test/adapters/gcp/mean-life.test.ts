/** Releases on fakes of Google Cloud with every adverse behaviour match the model. PORTSIDE_MEAN=all sets 100 runs. */
import { gcpWith } from "../../clouds/gcp.ts";
import { quickLifeTest } from "../../clouds/life.ts";
import { meanest } from "../../fakes/gcp/mean.ts";

const times = process.env["PORTSIDE_MEAN"] === "all" ? 100 : 2;

quickLifeTest({ ...gcpWith(meanest), name: "unfriendly-gcp" }, { listsPruned: false }, times);
