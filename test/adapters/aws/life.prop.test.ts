/** Random operations on the whole provider behave like the model. */
import { aws } from "../../clouds/aws.ts";
import { lifeTests } from "../../clouds/life.ts";

lifeTests(aws, { listsPruned: true });
