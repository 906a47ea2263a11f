/** The main job in memory, where nothing runs, by those cases of every provider that can be told without. */
import { createMemoryProvider } from "../../adapters/memory/index.ts";
import { e2eCases } from "./cases.ts";
import { e2eTests } from "./harness.ts";

e2eTests("memory", e2eCases, async () => createMemoryProvider());
