/** The end-to-end cases of every provider, on one machine. */
import { openForMainJob } from "../support/providers/local-suites.ts";
import { e2eCases } from "./cases.ts";
import { e2eTests } from "./harness.ts";

e2eTests("local", e2eCases, () => openForMainJob("process"));
