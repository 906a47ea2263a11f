/** The provider passes the ports' contract tests on the AWS fakes. */
import { aws } from "../../clouds/aws.ts";
import { cloudContractTests } from "../../clouds/contract.ts";

await cloudContractTests(aws);
