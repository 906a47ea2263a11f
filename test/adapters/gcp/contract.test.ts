/** The provider fulfils every port contract on the Google Cloud fakes. */

import { cloudContractTests } from "../../clouds/contract.ts";
import { gcp } from "../../clouds/gcp.ts";

await cloudContractTests(gcp);
