/** The end-to-end cases of every provider, on the AWS fakes. */
import { aws } from "../../clouds/aws.ts";
import { openCloud } from "../../clouds/cloud.ts";
import { e2eCases } from "../../e2e/cases.ts";
import { e2eTests } from "../../e2e/harness.ts";

e2eTests("aws", e2eCases, () => openCloud(aws));
