/** Releases on fakes of Google Cloud with every adverse behaviour match the model. PORTSIDE_ADVERSE=all sets 100 runs. */
import { gcpWith } from "../../clouds/gcp.ts";
import { quickLifeTest } from "../../clouds/life.ts";
import { allAdverse } from "../../fakes/gcp/adverse.ts";

const times = process.env["PORTSIDE_ADVERSE"] === "all" ? 100 : 2;

quickLifeTest({ ...gcpWith(allAdverse), name: "adverse-gcp" }, { listsPruned: false }, times);
