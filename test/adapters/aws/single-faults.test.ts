/** Injects a fault at each call of the whole provider. */
import { aws } from "../../clouds/aws.ts";
import { singleFaultTests } from "../../clouds/single-faults.ts";

singleFaultTests(aws, {
  deploy: ["ecs", "balancer", "scaling", "builds", "registry", "s3", "files", "iam", "scheduler", "logs"],
});
