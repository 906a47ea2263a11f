/** Any sequence of operations on the whole provider matches the model. */
import { aws } from "../../clouds/aws.ts";
import { lifeTests } from "../../clouds/life.ts";

lifeTests(aws, { listsPruned: true });
