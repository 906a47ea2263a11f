/** The main job in memory, where no service runs, with the cases that need none. */
import { createMemoryProvider } from "../../adapters/memory/index.ts";
import { e2eCases } from "./cases.ts";
import { e2eTests } from "./harness.ts";

e2eTests("memory", e2eCases, async () => createMemoryProvider());
