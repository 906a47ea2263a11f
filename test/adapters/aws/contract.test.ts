/** The provider keeps every promise of the ports, on the fakes of Amazon. */
import { aws } from "../../clouds/aws.ts";
import { cloudContractTests } from "../../clouds/contract.ts";

await cloudContractTests(aws);
