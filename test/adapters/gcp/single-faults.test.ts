/** Injects a fault at each call of the whole provider. */
import { gcp } from "../../clouds/gcp.ts";
import { singleFaultTests } from "../../clouds/single-faults.ts";

singleFaultTests(gcp, { deploy: ["run", "build", "registry", "iam", "storage", "scheduler", "logging"] });
