/** A fault at any single call of the provider as a whole: see the suite. */
import { aws } from "../../clouds/aws.ts";
import { singleFaultTests } from "../../clouds/single-faults.ts";

singleFaultTests(aws, {
  deploy: ["ecs", "balancer", "scaling", "builds", "registry", "s3", "files", "iam", "scheduler", "logs"],
});
