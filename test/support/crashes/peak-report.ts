/** Preloaded into a process (`--import`): writes its peak memory to a file when it exits. */
import { writeFileSync } from "node:fs";
import { memoryUse } from "./memory-use.ts";

process.on("exit", () => writeFileSync(process.env["PORTSIDE_TEST_PEAK"] as string, String(memoryUse().peak)));
