/** Any life of the whole provider is the model's. */
import { gcp } from "../../clouds/gcp.ts";
import { lifeTests } from "../../clouds/life.ts";

lifeTests(gcp);
