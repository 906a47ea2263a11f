/** The main job on the memory provider, which runs no services, with the cases that need no running service. */
import { createMemoryProvider } from "../../adapters/memory/index.ts";
import { e2eCases } from "./cases.ts";
import { e2eTests } from "./harness.ts";

e2eTests("memory", e2eCases, async () => createMemoryProvider());
