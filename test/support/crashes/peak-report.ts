/** Loaded into a process before its program (`--import`): says at its end how much memory it has held at most. */
import { writeFileSync } from "node:fs";
import { memoryUse } from "./memory-use.ts";

process.on("exit", () => writeFileSync(process.env["PORTSIDE_TEST_PEAK"] as string, String(memoryUse().peak)));
