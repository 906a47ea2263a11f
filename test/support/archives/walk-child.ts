/** Walks one bomb in a child process and reports the processor time and memory that it took. */
import { ArchiveWalk } from "../../../adapters/shared/archives/archive-walk.ts";
import { archiveLimits } from "../../../core/domain/accounts/limits.ts";
import { memoryUse } from "../crashes/memory-use.ts";
import { bytesOf, tarGz } from "./archives.ts";
import { bombs } from "./odd-archives.ts";

const walk = async (archive: Uint8Array): Promise<string | undefined> => {
  const one = new ArchiveWalk(archiveLimits);
  for await (const chunk of bytesOf(archive)) {
    await one.write(chunk);
    if (one.problem !== undefined) return one.problem;
  }
  await one.end();
  return one.problem;
};

// Excludes the code that the first walk of a process loads.
await walk(tarGz([{ path: "a", content: "a" }]));
const bomb = (bombs[process.argv[2] as string] as () => Buffer)();
globalThis.gc?.();
const before = memoryUse().now;
const began = process.cpuUsage();
const problem = await walk(bomb);
const { user, system } = process.cpuUsage(began);
const cpuSeconds = (user + system) / 1e6;
process.stdout.write(JSON.stringify({ problem, cpuSeconds, bytes: bomb.length, grown: memoryUse().peak - before }));
