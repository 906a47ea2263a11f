/**
 * Releases on fakes of AWS with all switches on match the model. PORTSIDE_MEAN=all sets 100 runs; PORTSIDE_SEED selects
 * them.
 */
import { awsWith } from "../../clouds/aws.ts";
import { releaseLifeTests } from "../../clouds/life.ts";
import { meanest } from "../../fakes/aws/mean.ts";

const times = process.env["PORTSIDE_MEAN"] === "all" ? 100 : 1;

releaseLifeTests({ ...awsWith(meanest), name: "unfriendly-aws" }, { listsPruned: true, speed: 20, times });
