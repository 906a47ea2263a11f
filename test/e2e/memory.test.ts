/** The end-to-end cases that need no running service, on the memory provider. */
import { createMemoryProvider } from "../../adapters/memory/index.ts";
import { e2eCases } from "./cases.ts";
import { e2eTests } from "./harness.ts";

e2eTests("memory", e2eCases, async () => createMemoryProvider());
