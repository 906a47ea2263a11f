/** Releases on fakes of AWS with every adverse behaviour match the model. PORTSIDE_MEAN=all sets 100 runs. */
import { awsWith } from "../../clouds/aws.ts";
import { quickLifeTest } from "../../clouds/life.ts";
import { meanest } from "../../fakes/aws/mean.ts";

const times = process.env["PORTSIDE_MEAN"] === "all" ? 100 : 2;

quickLifeTest({ ...awsWith(meanest), name: "unfriendly-aws" }, { listsPruned: true }, times);
