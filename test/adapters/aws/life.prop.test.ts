/** Any life of the whole provider is the model's. */
import { aws } from "../../clouds/aws.ts";
import { lifeTests } from "../../clouds/life.ts";

lifeTests(aws);
