/** The store of domains fulfils its contract on AWS. */
import { awsWith } from "../../../clouds/aws.ts";
import { cloudContractTests } from "../../../clouds/contract.ts";
import { domainStoreCases } from "../../../contracts/index.ts";
import { friendly } from "../../../fakes/aws/mean.ts";

await cloudContractTests(awsWith(friendly, { scheme: "https" }), domainStoreCases);
