/** The provider keeps every promise of the ports, on the fakes of Google Cloud. */

import { cloudContractTests } from "../../clouds/contract.ts";
import { gcp } from "../../clouds/gcp.ts";

await cloudContractTests(gcp);
