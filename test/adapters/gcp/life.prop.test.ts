/** Any sequence of operations on the whole provider matches the model. */
import { gcp } from "../../clouds/gcp.ts";
import { lifeTests } from "../../clouds/life.ts";

lifeTests(gcp, { listsPruned: false });
