/** Releases on fakes of AWS with every adverse behaviour match the model. PORTSIDE_ADVERSE=all sets 100 runs. */
import { awsWith } from "../../clouds/aws.ts";
import { quickLifeTest } from "../../clouds/life.ts";
import { allAdverse } from "../../fakes/aws/adverse.ts";

const times = process.env["PORTSIDE_ADVERSE"] === "all" ? 100 : 2;

quickLifeTest({ ...awsWith(allAdverse), name: "adverse-aws" }, { listsPruned: true }, times);
