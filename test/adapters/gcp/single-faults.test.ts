/** A fault at any single call of the provider as a whole: see the suite. */
import { gcp } from "../../clouds/gcp.ts";
import { singleFaultTests } from "../../clouds/single-faults.ts";

singleFaultTests(gcp, { deploy: ["run", "build", "registry", "iam", "storage", "scheduler", "logging"] });
